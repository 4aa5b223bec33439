import { scopeParams } from '../account/account-scope.ts'
import type { AccountScope } from '../account/account-scope.ts'
import type { Database, Statement } from '../store/database.ts'
import { insertSuppression } from './insert-suppression.ts'
import { suppressionAddress } from './suppression-address.ts'

/** One look-up asks for so many addresses at most; the text of the statement depends on their number. */
const addressesAtOnce = 50

/** The entries for these addresses. Opt-outs from a topic do not count: they concern mail of that topic only. */
function entriesFor(scope: AccountScope, addresses: string[]): { from: string; params: Record<string, string | number> } {
  const names = addresses.map((_, place) => `a${place}`)
  return {
    from: `from suppression
            where account_id = :accountId and address in (${names.map((name) => `:${name}`).join(', ')})
              and origin <> 'unsubscribe' and sandbox = :sandbox`,
    params: {
      ...scopeParams(scope),
      ...Object.fromEntries(names.map((name, place) => [name, suppressionAddress(addresses[place] as string)])),
    },
  }
}

const inPieces = (addresses: string[]): string[][] =>
  Array.from({ length: Math.ceil(addresses.length / addressesAtOnce) }, (_, i) =>
    addresses.slice(i * addressesAtOnce, (i + 1) * addressesAtOnce),
  )

/** Which of the addresses an account must not send to. */
export async function findSuppressed(db: Database, scope: AccountScope, addresses: string[]): Promise<Set<string>> {
  const suppressed = new Set<string>()
  for (const piece of inPieces(addresses)) {
    const { from, params } = entriesFor(scope, piece)
    for (const { address } of await db.read<{ address: string }>(`select address ${from}`, params)) suppressed.add(address)
  }
  return suppressed
}

/** Statements that refuse their batch where one of the addresses is on the list. */
export const noneSuppressed = (scope: AccountScope, addresses: string[]): Statement[] =>
  inPieces(addresses).map((piece) => {
    const { from, params } = entriesFor(scope, piece)
    return { sql: `select cast(1 as bigint) as free where not exists (select 1 ${from})`, params, expect: 1 }
  })

/** Puts an address on the list after a hard bounce; one that is there already stays as it is. */
export const suppressBounced = (
  scope: AccountScope,
  { address, messageId, reason }: { address: string; messageId: string; reason: string },
  now: number,
): Statement => insertSuppression(scope, { address, origin: 'bounce', sourceId: messageId, reason, createdAt: now })
