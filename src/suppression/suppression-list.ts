import { newId } from '../id.ts'
import type { Database, Statement } from '../store/database.ts'

/** Addresses are compared in lower case as a whole: providers treat local parts so, whatever RFC 5321 allows. */
export const suppressionAddress = (address: string): string => address.toLowerCase()

/** One look-up asks for so many addresses at most; the text of the statement depends on their number. */
const addressesAtOnce = 50

/** Whose list, and which of its two: live mail and the sandbox know nothing of each other. */
interface Scope {
  accountId: string
  sandbox: boolean
}

/** The entries for these addresses. Opt-outs from a topic do not count: they concern mail of that topic only. */
function entriesFor({ accountId, sandbox }: Scope, addresses: string[]): { from: string; params: Record<string, string | number> } {
  const names = addresses.map((_, place) => `a${place}`)
  return {
    from: `from suppression
            where account_id = :accountId and address in (${names.map((name) => `:${name}`).join(', ')})
              and origin <> 'unsubscribe' and sandbox = :sandbox`,
    params: {
      accountId,
      sandbox: sandbox ? 1 : 0,
      ...Object.fromEntries(names.map((name, place) => [name, suppressionAddress(addresses[place] as string)])),
    },
  }
}

const inPieces = (addresses: string[]): string[][] =>
  Array.from({ length: Math.ceil(addresses.length / addressesAtOnce) }, (_, i) =>
    addresses.slice(i * addressesAtOnce, (i + 1) * addressesAtOnce),
  )

/** Which of the addresses an account must not send to. */
export async function findSuppressed(db: Database, scope: Scope, addresses: string[]): Promise<Set<string>> {
  const suppressed = new Set<string>()
  for (const piece of inPieces(addresses)) {
    const { from, params } = entriesFor(scope, piece)
    for (const { address } of await db.read<{ address: string }>(`select address ${from}`, params)) suppressed.add(address)
  }
  return suppressed
}

/** Statements that refuse their batch where one of the addresses is on the list. */
export const noneSuppressed = (scope: Scope, addresses: string[]): Statement[] =>
  inPieces(addresses).map((piece) => {
    const { from, params } = entriesFor(scope, piece)
    return { sql: `select cast(1 as bigint) as free where not exists (select 1 ${from})`, params, expect: 1 }
  })

/** Puts an address on the list after a hard bounce; one that is there already stays as it is. */
export function suppressBounced(
  scope: Scope,
  entry: { address: string; messageId: string; reason: string },
  now: number,
): Statement {
  return {
    sql: `insert into suppression (id, account_id, address, origin, topic, sandbox, source_id, reason, created_at)
          values (:id, :accountId, :address, 'bounce', '', :sandbox, :sourceId, :reason, :now)
          on conflict (account_id, address, origin, topic, sandbox) do nothing`,
    params: {
      id: newId('sup', now),
      accountId: scope.accountId,
      address: suppressionAddress(entry.address),
      sandbox: scope.sandbox ? 1 : 0,
      sourceId: entry.messageId,
      reason: entry.reason,
      now,
    },
  }
}
