import type { Clock } from '../clock.ts'
import type { Database, Statement } from '../store/database.ts'
import type { AddressForms } from './address-forms.ts'

/** What was erased, by what it is; the names are those of the API. */
export const erasedThings = [
  'emails',
  'recipients',
  'canceled_recipients',
  'contents',
  'contents_waiting',
  'events',
  'attempts',
  'webhook_deliveries',
  'reports',
  'suppressions',
  'soft_bounce_counts',
  'idempotency_keys',
] as const

type ErasedThing = (typeof erasedThings)[number]
export type ErasedCounts = Record<ErasedThing, number>

export const noCounts = (): ErasedCounts => Object.fromEntries(erasedThings.map((thing) => [thing, 0])) as ErasedCounts

/** Whose data an address is to be erased from. */
export interface ErasureScope {
  /** Null: everybody's. */
  accountId: string | null
  /** The sandbox alone; otherwise both, live mail and the sandbox. */
  sandboxOnly: boolean
}

/** One address that is being erased. */
export interface Erasing {
  db: Database
  clock: Clock
  scope: ErasureScope
  forms: AddressForms
  /** What stands in its place. */
  erased: string
  /** True where nothing else works on the database, so that nobody has anything in hand. */
  isAlone: boolean
  counts: ErasedCounts
}

/** A change, and as what its rows are counted; null where they are not. */
export interface Change {
  counted: ErasedThing | null
  statement: Statement
}

/** Statements of one batch. */
const statementsAtOnce = 200

/** Writes changes in their order, some at a time. Each may be made again. */
export async function writeChanges({ db, counts }: Pick<Erasing, 'db' | 'counts'>, changes: Change[]): Promise<void> {
  for (let start = 0; start < changes.length; start += statementsAtOnce) {
    const piece = changes.slice(start, start + statementsAtOnce)
    const written = await db.write(piece.map(({ statement }) => statement))
    for (const [place, { counted }] of piece.entries()) if (counted !== null) counts[counted] += written[place]?.changes ?? 0
  }
}

/** True of what belongs to the scope. */
export const isWithin = ({ accountId, sandboxOnly }: ErasureScope, row: { accountId: string | null; isSandbox: boolean }): boolean =>
  (accountId === null || row.accountId === accountId) && (!sandboxOnly || row.isSandbox)
