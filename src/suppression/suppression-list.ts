import { newId } from '../id.ts'
import type { Database, Statement } from '../store/database.ts'

/** Addresses are compared in lower case as a whole: providers treat local parts so, whatever RFC 5321 allows. */
export const suppressionAddress = (address: string): string => address.toLowerCase()

/** One look-up asks for so many addresses at most; the text of the statement depends on their number. */
const addressesAtOnce = 50

/**
 * Which of the addresses an account must not send to. Opt-outs from a topic do not count here: they concern
 * mail of that topic only.
 */
export async function findSuppressed(
  db: Database,
  scope: { accountId: string; sandbox: boolean },
  addresses: string[],
): Promise<Set<string>> {
  const suppressed = new Set<string>()
  for (let i = 0; i < addresses.length; i += addressesAtOnce) {
    const params: Record<string, string | number> = { accountId: scope.accountId, sandbox: scope.sandbox ? 1 : 0 }
    const names = addresses.slice(i, i + addressesAtOnce).map((address, place) => {
      params[`a${place}`] = suppressionAddress(address)
      return `:a${place}`
    })
    const rows = await db.read<{ address: string }>(
      `select address from suppression
        where account_id = :accountId and address in (${names.join(', ')}) and origin <> 'unsubscribe' and sandbox = :sandbox`,
      params,
    )
    for (const { address } of rows) suppressed.add(address)
  }
  return suppressed
}

/** Puts an address on the list after a hard bounce; one that is there already stays as it is. */
export function suppressBounced(
  scope: { accountId: string; sandbox: boolean },
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
