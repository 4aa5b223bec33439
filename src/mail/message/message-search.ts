import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import type { Database, Row, Value } from '../../platform/store/database.ts'
import type { Page } from '../../platform/store/page-clause.ts'
import { searchInPieces, standardSizes, type Searched, type Span } from '../../platform/store/search-in-pieces.ts'
import { candidatesOf, filterCondition, filterParams, spanOf, type Candidates, type MessageFilter } from './message-filter.ts'
import { maxBehind, searchPosition } from './search-terms.ts'

interface MessageSearch {
  /** On the table message. */
  columns: string
  scope: AccountScope
  filter: MessageFilter
  page: Page
}

const account = 'account_id = :accountId and sandbox = :sandbox'

/**
 * A page of an account's messages, newest first, as `pageClause` requires. If one condition matches few messages, those are checked one
 * by one; if all match many, walking the list soon fills the page, unless the conditions hardly ever occur together.
 */
export async function searchMessages<R extends Row>(
  db: Pick<Database, 'slowRead'>,
  { columns, scope, filter, page }: MessageSearch,
  sizes = standardSizes,
): Promise<Searched<R, string>> {
  const isUpward = page.before !== null
  const rows = page.limit + 1
  const order = `order by id ${isUpward ? 'asc' : 'desc'}`
  const params = { ...scopeParams(scope), ...filterParams(filter), rows }
  const candidates = await usable(db, candidatesOf(filter))
  const span = spanOf(filter, page)
  const direct = candidates.filter(({ isDirect }) => isDirect)
  const only = await fewest(db, direct, { ...params, ...span }, sizes.few)
  if (only) {
    const found = await db.slowRead<R>(
      `select ${columns} from (select distinct message_id from (${allOf(only)}) candidate) found cross join message
        where id = found.message_id and id >= :first and id < :end and ${account} and ${filterCondition(filter)} ${order} limit :rows`,
      { ...params, ...span },
    )
    return { rows: found, rest: null }
  }
  const among = candidates
    .filter(({ isDivisible }) => isDivisible)
    .map((each) => `and case when id in (${allOf(each)}) then 1 else 0 end = 1`)
  const pieces = {
    isUpward,
    rows,
    edgeOf: (rest: Span<string>, entries: number) => edgeOf(db, rest, { ...params, entries, isUpward }),
    look: (piece: Span<string>) =>
      db.slowRead<R>(
        `select ${columns} from message
          where ${account} and id >= :first and id < :end ${among.join(' ')} and ${filterCondition(filter)} ${order} limit :rows`,
        { ...params, ...piece },
      ),
  }
  return searchInPieces<R, string>(span, pieces, sizes)
}

/** Includes messages whose entries are not up to date with the log. */
const allOf = ({ indexed, behind }: Candidates): string => (behind === null ? indexed : `${indexed} union all ${behind}`)

async function usable(db: Pick<Database, 'slowRead'>, candidates: Candidates[]): Promise<Candidates[]> {
  if (candidates.every(({ behind }) => behind === null)) return candidates
  const { behind } = await searchPosition(db)
  return behind <= maxBehind ? candidates : candidates.filter((each) => each.behind === null)
}

/** The smallest set of candidates, if it is small. */
async function fewest(
  db: Pick<Database, 'slowRead'>,
  candidates: Candidates[],
  params: Record<string, Value>,
  few: number,
): Promise<Candidates | undefined> {
  const counted = await Promise.all(
    candidates.map(async (each) => {
      const [row] = await db.slowRead<{ found: number }>(
        `select count(*) as found from (select 1 as one from (${each.indexed}) candidate limit :most) found`,
        { ...params, most: few + 1 },
      )
      return { each, found: row?.found ?? 0 }
    }),
  )
  return counted.filter(({ found }) => found <= few).toSorted((one, other) => one.found - other.found)[0]?.each
}

/** Uses only the index message_account. */
async function edgeOf(
  db: Pick<Database, 'slowRead'>,
  { first, end }: Span<string>,
  { entries, isUpward, accountId, sandbox }: { entries: number; isUpward: boolean; accountId: string; sandbox: number },
): Promise<string | undefined> {
  const [edge] = await db.slowRead<{ id: string }>(
    `select id from message where ${account} and id >= :first and id < :end
      order by id ${isUpward ? 'asc' : 'desc'} limit 1 offset :entries`,
    { accountId, sandbox, first, end, entries: isUpward ? entries : entries - 1 },
  )
  return edge?.id
}
