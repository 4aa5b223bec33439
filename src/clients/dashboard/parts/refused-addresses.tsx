import type { RefusedAddress } from '../add-suppressions.ts'
import { t } from '../texts/texts.ts'
import { Figures, type Column } from './rows.tsx'

const maxShown = 50

/** Addresses that the API did not take, with their lines and why. */
export const Refused = ({ rows }: { rows: readonly RefusedAddress[] }) => (
  <Figures
    name={t.suppressions.refused}
    rows={rows.slice(0, maxShown)}
    columns={columns()}
    keyOf={({ line, address }) => `${line} ${address}`}
  />
)

const columns = (): Column<RefusedAddress>[] => [
  { head: t.suppressions.line, kind: 'number', cell: ({ line }) => line },
  { head: t.common.address, kind: 'title', cell: ({ address }) => address },
  { head: t.suppressions.whyRefused, kind: 'quiet', cell: ({ why }) => why },
]
