import { setQuery } from '../router.tsx'
import { t } from '../texts/texts.ts'

/** The way on through a list: its place is in the address, as `after`. */
export const Paging = ({ isFirst, last }: { isFirst: boolean; last: string | null }) =>
  isFirst && last === null ? null : (
    <div class="paging">
      {!isFirst && (
        <button class="btn small" type="button" onClick={() => setQuery({ after: null })}>
          {t.common.newest}
        </button>
      )}
      {last !== null && (
        <button class="btn small" type="button" onClick={() => setQuery({ after: last })}>
          {t.common.older}
        </button>
      )}
    </div>
  )
