import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import type { Database, Row, Statement, Value } from '../../platform/store/database.ts'
import { namedValues } from '../../platform/store/named-values.ts'
import { erasedForms, type ErasedAddress } from './erased-address.ts'
import { suppressionAddress } from './suppression-address.ts'
import type { SuppressionOrigin } from './suppression-origin.ts'

/** Addresses per query, each in two forms. The statement's text depends on their number. */
const addressesAtOnce = 50

/** Recipients' addresses, and the topic they can unsubscribe from: '' for mail without a topic, null if they cannot unsubscribe. */
export interface AddressedMail {
  addresses: string[]
  topic: string | null
}

/** True if this address must not get mail of this topic. */
export type IsSuppressed = (address: string, topic: string | null) => boolean

/** An entry of the list. */
export interface SuppressionRow extends Row {
  id: string
  address: string
  origin: SuppressionOrigin
  /** For origin `unsubscribe`; '' if the mail had none. */
  topic: string
  /** Message id. */
  source_id: string | null
  reason: string | null
  created_at: number
  /** Null: does not expire. */
  expires_at: number | null
}

/** The columns of an entry. */
export const suppressionColumns = 'id, address, origin, topic, source_id, reason, created_at, expires_at'

/** Whose list, and how to search it. */
export interface SuppressionQuery extends AccountScope {
  /** The form in which the list has an erased address. */
  erasedAddress: ErasedAddress
  /** Epoch, ms; entries must be in force at this time. */
  now: number
}

/** The entries in force for these addresses. */
function entriesFor(query: SuppressionQuery, addresses: string[]): { from: string; params: Record<string, Value> } {
  const { names, params } = namedValues(
    'a',
    addresses.flatMap((address) => [suppressionAddress(address), ...erasedForms(query.erasedAddress, address)]),
  )
  return {
    from: `from suppression
            where account_id = :accountId and address in (${names})
              and sandbox = :sandbox and (expires_at is null or expires_at > :now)`,
    params: { ...scopeParams(query), now: query.now, ...params },
  }
}

const inPieces = (addresses: string[]): string[][] =>
  Array.from({ length: Math.ceil(addresses.length / addressesAtOnce) }, (_, i) =>
    addresses.slice(i * addressesAtOnce, (i + 1) * addressesAtOnce),
  )

/** Which of the addresses an account must not send to. An unsubscribed address still gets mail on other topics. */
export async function findSuppressed(db: Pick<Database, 'read'>, query: SuppressionQuery, addresses: string[]): Promise<IsSuppressed> {
  const all = new Set<string>()
  const byTopic = new Set<string>()
  for (const piece of inPieces(addresses)) {
    const { from, params } = entriesFor(query, piece)
    for (const { address, origin, topic } of await db.read<Pick<SuppressionRow, 'address' | 'origin' | 'topic'>>(
      `select address, origin, topic ${from}`,
      params,
    )) {
      if (origin === 'unsubscribe') byTopic.add(`${topic} ${address}`)
      else all.add(address)
    }
  }
  return (address, topic) => {
    const forms = [suppressionAddress(address), ...erasedForms(query.erasedAddress, address)]
    return forms.some((listed) => all.has(listed) || (topic !== null && byTopic.has(`${topic} ${listed}`)))
  }
}

/** The entry that stops mail of this topic to each of the addresses, the newest that stops all mail first; as `findSuppressed` judges. */
export async function entriesThatStop(
  db: Pick<Database, 'slowRead'>,
  query: SuppressionQuery,
  { addresses, topic }: AddressedMail,
): Promise<Map<string, SuppressionRow>> {
  const found: SuppressionRow[] = []
  for (const piece of inPieces(addresses)) {
    const { from, params } = entriesFor(query, piece)
    const entries = await db.slowRead<SuppressionRow>(
      `select ${suppressionColumns} ${from} and (origin <> 'unsubscribe' or topic = :topic) order by case when origin = 'unsubscribe' then 1 else 0 end, id desc`,
      { ...params, topic },
    )
    found.push(...entries)
  }
  const stopping = new Map<string, SuppressionRow>()
  for (const address of addresses) {
    const forms = [suppressionAddress(address), ...erasedForms(query.erasedAddress, address)]
    const entry = found.find((each) => forms.includes(each.address))
    if (entry) stopping.set(address, entry)
  }
  return stopping
}

/** Statements that make their batch fail if one of the addresses is on the list. */
export const noneSuppressed = (query: SuppressionQuery, mail: AddressedMail[]): Statement[] =>
  mail.flatMap(({ addresses, topic }) =>
    inPieces(addresses).map((piece) => {
      const { from, params } = entriesFor(query, piece)
      return {
        sql: `select cast(1 as bigint) as free where not exists (select 1 ${from} and (origin <> 'unsubscribe' or topic = :topic))`,
        params: { ...params, topic },
        expect: 1,
        guard: 'suppression' as const,
      }
    }),
  )

/**
 * The form in which to list each of these addresses: as it is, or its replacement if it was erased and is still listed. Otherwise importing
 * it again would restore what was erased.
 */
export async function listedForms(
  db: Pick<Database, 'read'>,
  { erasedAddress, ...scope }: Omit<SuppressionQuery, 'now'>,
  addresses: string[],
): Promise<(address: string) => string> {
  const erased = new Set<string>()
  for (const piece of inPieces(addresses)) {
    const { names, params } = namedValues(
      'a',
      piece.flatMap((address) => erasedForms(erasedAddress, address)),
    )
    const rows = await db.read<{ address: string }>(
      `select address from suppression where account_id = :accountId and sandbox = :sandbox and address in (${names})`,
      { ...scopeParams(scope), ...params },
    )
    for (const { address } of rows) erased.add(address)
  }
  return (address) => erasedForms(erasedAddress, address).find((form) => erased.has(form)) ?? address
}
