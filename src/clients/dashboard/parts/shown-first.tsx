import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { Button } from './button.tsx'

/** The first rows of a long list, and the others on demand. */
export function ShownFirst<T>({
  rows,
  most,
  children,
}: {
  rows: readonly T[]
  most: number
  children(shown: readonly T[]): ComponentChildren
}) {
  const [isWhole, setWhole] = useState(false)
  const hasMore = !isWhole && rows.length > most
  return (
    <>
      {children(hasMore ? rows.slice(0, most) : rows)}
      {hasMore && (
        <div class="paging">
          <Button look="small" text={t.common.showAll(rows.length)} onClick={() => setWhole(true)} />
        </div>
      )}
    </>
  )
}
