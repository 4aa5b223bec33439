import type { BaseServices } from '../../platform/base-services.ts'
import type { Row, Statement } from '../../platform/store/database.ts'
import { tableWindows } from '../../platform/store/table-windows.ts'
import type { AddressForms } from './address-forms.ts'

/** What was erased, by kind; the names are the API's. */
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

/** Whose data to erase an address from. */
export interface ErasureScope {
  /** Null: everybody's. */
  accountId: string | null
  /** Only the sandbox; otherwise both live mail and the sandbox. */
  sandboxOnly: boolean
}

/** One address that is being erased. */
export interface Erasing extends Pick<BaseServices, 'db' | 'clock'> {
  scope: ErasureScope
  forms: AddressForms
  /** Replaces the address. */
  erased: string
  counts: ErasedCounts
}

/** A change, and the kind that its rows count as; null: not counted. */
export interface Change {
  counted: ErasedThing | null
  statement: Statement
}

export const change = (counted: ErasedThing | null, sql: string, params: NonNullable<Statement['params']>): Change => ({
  counted,
  statement: { sql, params },
})

/**
 * What a query finds in a table, window by window.
 * @param sql takes the rows with keys `> :after and <= :upto`, and may use `:pattern`, and `:accountId`, which is '' for everybody's
 */
export async function* searched<Found extends Row>(
  { db, scope, forms }: Erasing,
  { sql, ...table }: { table: string; key: string; start: string | number; sql: string },
): AsyncGenerator<Found[]> {
  const params = { pattern: forms.pattern, accountId: scope.accountId ?? '' }
  for await (const window of tableWindows(db, table)) yield await db.slowRead<Found>(sql, { ...params, ...window })
}

/** Statements per batch. */
const statementsAtOnce = 200

/** Writes changes in order, in batches. Each may be repeated. */
export async function writeChanges({ db, counts }: Pick<Erasing, 'db' | 'counts'>, changes: Change[]): Promise<void> {
  for (let start = 0; start < changes.length; start += statementsAtOnce) {
    const piece = changes.slice(start, start + statementsAtOnce)
    const written = await db.write(piece.map(({ statement }) => statement))
    for (const [place, { counted }] of piece.entries()) if (counted !== null) counts[counted] += written[place]?.changes ?? 0
  }
}

/** True if a row belongs to the scope. */
export const isWithin = ({ accountId, sandboxOnly }: ErasureScope, row: { accountId: string | null; isSandbox: boolean }): boolean =>
  (accountId === null || row.accountId === accountId) && (!sandboxOnly || row.isSandbox)
