import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import type { Database, Row, Statement, Value } from '../../platform/store/database.ts'
import { namedValues } from '../../platform/store/named-values.ts'
import { erasedDomain, erasedForms, type ErasedAddress } from './erased-address.ts'
import { suppressionAddress, wholeDomainOf } from './suppression-address.ts'
import type { SuppressionOrigin } from './suppression-origin.ts'

/** Addresses per query, each in three forms. The statement's text depends on their number. */
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
interface SuppressionQuery extends AccountScope {
  /** The form in which the list has an erased address. */
  erasedAddress: ErasedAddress
  /** Epoch, ms; entries must be in force at this time. */
  now: number
}

/** What stands for an address in the list: itself, its domain, or what replaced it when it was erased. */
const formsOf = ({ erasedAddress }: Pick<SuppressionQuery, 'erasedAddress'>, address: string): string[] => [
  suppressionAddress(address),
  wholeDomainOf(address),
  ...erasedForms(erasedAddress, address),
]

/** The entries in force for these addresses, in whatever form they are listed. */
const entriesFor = (query: SuppressionQuery, addresses: string[]): Entries =>
  entriesNamed(
    query,
    addresses.flatMap((address) => formsOf(query, address)),
  )

interface Entries {
  from: string
  params: Record<string, Value>
}

/** The entries in force for addresses in these forms. */
function entriesNamed(query: SuppressionQuery, forms: string[]): Entries {
  const { names, params } = namedValues('a', forms)
  return { from: entriesFrom(names), params: { ...scopeParams(query), now: query.now, ...params } }
}

const entriesFrom = (names: string): string =>
  `from suppression
    where account_id = :accountId and address in (${names})
      and sandbox = :sandbox and (expires_at is null or expires_at > :now)`

const inPieces = (addresses: string[]): string[][] =>
  addresses.length === 1
    ? [addresses]
    : Array.from({ length: Math.ceil(addresses.length / addressesAtOnce) }, (_, i) =>
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
    const forms = formsOf(query, address)
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
    const forms = formsOf(query, address)
    const entry = found.find((each) => forms.includes(each.address))
    if (entry) stopping.set(address, entry)
  }
  return stopping
}

/** Uses the partial index suppression_erased, which is empty where nobody was erased. */
const erasedIsListed = `exists (select 1 from suppression where address like '%@${erasedDomain}')`
/** Uses the partial index suppression_other_form, which is empty where no domain is listed either. */
const otherFormIsListed = `exists (select 1 from suppression where address like '@%' or address like '%@${erasedDomain}')`

/** In which forms there are entries, as far as is known: plain addresses, whole domains too, or erased addresses too. */
type ListedForms = 'plain' | 'domains' | 'all'

/** The other forms. While none of a form is known, acceptance need not search for it. */
export class OtherForms {
  readonly #db: Pick<Database, 'read'>
  #known: ListedForms = 'plain'

  constructor(db: Pick<Database, 'read'>) {
    this.#db = db
  }

  get known(): ListedForms {
    return this.#known
  }

  async look(): Promise<void> {
    if (this.#known === 'all') return
    const [found] = await this.#db.read<{ erased: number }>(
      `select cast(case when ${erasedIsListed} then 1 else 0 end as bigint) as erased where ${otherFormIsListed}`,
    )
    if (found) this.#known = found.erased === 1 ? 'all' : 'domains'
  }
}

/** What must not be listed where only these forms are searched. */
const unsearched: Record<ListedForms, string> = {
  plain: `and not ${otherFormIsListed}`,
  domains: `and not ${erasedIsListed}`,
  all: '',
}

const freeIf = (from: string, searched: ListedForms): string =>
  `select cast(1 as bigint) as free where not exists (select 1 ${from} and (origin <> 'unsubscribe' or topic = :topic))
   ${unsearched[searched]}`

/** The text for one address, which nearly all mail has. */
const oneIsFree = freeIf(entriesFrom(':a0'), 'plain')

type FreedomQuery = SuppressionQuery & { forms: ListedForms }

/**
 * Statements that make their batch fail if one of the addresses is on the list. They search only for `forms`, and fail if there are
 * entries in another one.
 */
export function noneSuppressed(query: FreedomQuery, mail: AddressedMail[]): Statement[] {
  return mail.flatMap(({ addresses, topic }) => inPieces(addresses).map((piece) => noneListed(query, piece, topic)))
}

function noneListed(query: FreedomQuery, addresses: string[], topic: string | null): Statement {
  const [only = ''] = addresses
  const { accountId, sandbox, now, forms } = query
  if (forms === 'plain' && addresses.length === 1) {
    const params = { accountId, sandbox: sandbox ? 1 : 0, now, a0: suppressionAddress(only), topic }
    return { sql: oneIsFree, params, expect: 1, guard: 'suppression' }
  }
  const { from, params } = forms === 'all' ? entriesFor(query, addresses) : entriesNamed(query, namesIn(forms, addresses))
  return { sql: freeIf(from, forms), params: { ...params, topic }, expect: 1, guard: 'suppression' }
}

const namesIn = (forms: 'plain' | 'domains', addresses: string[]): string[] =>
  forms === 'plain'
    ? addresses.map(suppressionAddress)
    : addresses.flatMap((address) => [suppressionAddress(address), wholeDomainOf(address)])

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
