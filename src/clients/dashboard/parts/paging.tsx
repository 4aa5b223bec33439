import { setQuery } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Button } from './button.tsx'

/** The way on through a list: its place is in the address, as `after`. */
export const Paging = ({ isFirst, last }: { isFirst: boolean; last: string | null }) =>
  isFirst && last === null ? null : (
    <div class="paging">
      {!isFirst && <Button look="small" text={t.common.newest} onClick={() => setQuery({ after: null })} />}
      {last !== null && <Button look="small" text={t.common.older} onClick={() => setQuery({ after: last })} />}
    </div>
  )
