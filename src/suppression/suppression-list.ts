import { scopeParams } from '../account/account-scope.ts'
import type { AccountScope } from '../account/account-scope.ts'
import type { Database, Row, Statement } from '../store/database.ts'
import { suppressionAddress } from './suppression-address.ts'
import type { SuppressionOrigin } from './suppression-origin.ts'

/** One look-up asks for so many addresses at most; the text of the statement depends on their number. */
const addressesAtOnce = 50

/** Addresses that mail goes to, and what its readers can unsubscribe from: '' where it has no topic, null where they cannot. */
export interface AddressedMail {
  addresses: string[]
  topic: string | null
}

/** True where this address must not get mail of this topic. */
export type IsSuppressed = (address: string, topic: string | null) => boolean

/** The entries for these addresses that count at a moment (epoch, ms). */
function entriesFor(scope: AccountScope, addresses: string[], now: number): { from: string; params: Record<string, string | number> } {
  const names = addresses.map((_, place) => `a${place}`)
  return {
    from: `from suppression
            where account_id = :accountId and address in (${names.map((name) => `:${name}`).join(', ')})
              and sandbox = :sandbox and (expires_at is null or expires_at > :now)`,
    params: {
      ...scopeParams(scope),
      now,
      ...Object.fromEntries(names.map((name, place) => [name, suppressionAddress(addresses[place] as string)])),
    },
  }
}

const inPieces = (addresses: string[]): string[][] =>
  Array.from({ length: Math.ceil(addresses.length / addressesAtOnce) }, (_, i) =>
    addresses.slice(i * addressesAtOnce, (i + 1) * addressesAtOnce),
  )

/** Which of the addresses an account must not send to. One that unsubscribed gets no mail of that topic, but all other. */
export async function findSuppressed(db: Database, scope: AccountScope, { addresses, now }: { addresses: string[]; now: number }): Promise<IsSuppressed> {
  const all = new Set<string>()
  const byTopic = new Set<string>()
  for (const piece of inPieces(addresses)) {
    const { from, params } = entriesFor(scope, piece, now)
    for (const { address, origin, topic } of await db.read<EntryRow>(`select address, origin, topic ${from}`, params)) {
      if (origin === 'unsubscribe') byTopic.add(`${topic} ${address}`)
      else all.add(address)
    }
  }
  return (address, topic) => {
    const listed = suppressionAddress(address)
    return all.has(listed) || (topic !== null && byTopic.has(`${topic} ${listed}`))
  }
}

interface EntryRow extends Row {
  address: string
  origin: SuppressionOrigin
  topic: string
}

/** Statements that refuse their batch where one of the addresses is on the list at a moment (epoch, ms). */
export const noneSuppressed = (scope: AccountScope, mail: AddressedMail[], now: number): Statement[] =>
  mail.flatMap(({ addresses, topic }) =>
    inPieces(addresses).map((piece) => {
      const { from, params } = entriesFor(scope, piece, now)
      return {
        sql: `select cast(1 as bigint) as free where not exists (select 1 ${from} and (origin <> 'unsubscribe' or topic = :topic))`,
        params: { ...params, topic },
        expect: 1,
      }
    }),
  )
