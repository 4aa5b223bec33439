import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import { messagesBehind, messagesWith, maxBehind, searchPosition, termOf, wholeTable } from '../message/search-terms.ts'
import type { Database, Row, Value } from '../../platform/store/database.ts'
import type { Page } from '../../platform/store/page-clause.ts'
import { searchInPieces, standardSizes, type Pieces, type SearchSizes, type Span } from '../../platform/store/search-in-pieces.ts'
import { blockSize, isPublic } from './event-blocks.ts'
import type { PublicEventType } from './event-type.ts'

export interface EventFilter {
  type: PublicEventType | null
  messageId: string | null
  /** A recipient's bare address. */
  to: string | null
  /** Recorded at or after; epoch, ms. */
  since: number | null
  /** Recorded before; epoch, ms. */
  until: number | null
}

/** A page of the log, by positions. */
export interface FeedPage extends Page<number> {
  order: 'asc' | 'desc'
}

interface EventQuery {
  /** Columns of the table event. */
  columns: string
  scope: AccountScope
  filter: EventFilter
  page: FeedPage
}

const inAccount = 'account_id = :accountId and sandbox = :sandbox'
const inSpan = 'seq >= :firstPlace and seq < :endPlace'

/** The part of the span inside each block. Uses the index event_feed. */
const inBlock = `seq >= case when found.block * ${blockSize} > :firstPlace then found.block * ${blockSize} else :firstPlace end
  and seq < case when (found.block + 1) * ${blockSize} < :endPlace then (found.block + 1) * ${blockSize} else :endPlace end`

/** Emails to the recipient, the latest first. */
const emailsTo = `
  select distinct message_id as email_id from (${messagesWith(termOf.to)} union all ${messagesBehind('email.queued')}) candidate`

/**
 * Searches an account's public events. Skips blocks of the log without the type or time. For a recipient, looks only at
 * the emails to it, unless there are many.
 */
export class EventSearch<R extends Row> {
  readonly #db: Pick<Database, 'slowRead'>
  readonly #query: EventQuery
  readonly #sizes: SearchSizes
  readonly #isUpward: boolean
  readonly #rows: number
  readonly #conditions: string
  readonly #params: Record<string, Value>

  constructor(db: Pick<Database, 'slowRead'>, query: EventQuery, sizes = standardSizes) {
    const { page, filter, scope } = query
    this.#db = db
    this.#query = query
    this.#sizes = sizes
    this.#isUpward = (page.order === 'asc') === (page.before === null)
    this.#rows = page.limit + 1
    this.#conditions = [isPublic, ...conditionsOf(filter)].join(' and ')
    this.#params = { ...scopeParams(scope), ...wholeTable, ...paramsOf(filter), rows: this.#rows }
  }

  /** A page, for `pageClause`. */
  async page(): Promise<R[]> {
    const { page, filter } = this.#query
    const span = spanOf(page)
    const { messageId, to, ...others } = filter
    if (messageId !== null) return this.#look('event', `message_id = :messageId and ${inAccount} and ${inSpan}`, span)
    if (to === null && Object.values(others).every((value) => value === null))
      return this.#look('event', `${inAccount} and ${inSpan}`, span)
    const { position, behind } = await searchPosition(this.#db)
    if (to !== null && behind <= maxBehind && (await this.#areEmailsFew())) {
      return this.#look(`(${emailsTo}) found cross join event`, `message_id = found.email_id and ${inSpan}`, span)
    }
    const inBlocks = () => this.#searchBlocks({ first: span.first, end: Math.min(span.end, position + 1) })
    const behindThem = () => this.#searchLog({ first: Math.max(span.first, position + 1), end: span.end })
    const [one, other] = this.#isUpward ? [inBlocks, behindThem] : [behindThem, inBlocks]
    const rows = await one()
    return rows.length < this.#rows ? rows.concat(await other()).slice(0, this.#rows) : rows
  }

  #look(from: string, condition: string, { first, end }: Span<number>): Promise<R[]> {
    return this.#db.slowRead<R>(
      `select ${this.#query.columns} from ${from} where ${condition} and ${this.#conditions} order by seq ${this.#direction} limit :rows`,
      { ...this.#params, firstPlace: first, endPlace: end, ...blocksOf({ first, end }) },
    )
  }

  get #direction(): string {
    return this.#isUpward ? 'asc' : 'desc'
  }

  async #areEmailsFew(): Promise<boolean> {
    const [row] = await this.#db.slowRead<{ found: number }>(
      `select count(*) as found from (select 1 as one from (${messagesWith(termOf.to)}) candidate limit :most) found`,
      { ...this.#params, most: this.#sizes.few + 1 },
    )
    return (row?.found ?? 0) <= this.#sizes.few
  }

  /** Reads all of the account's events. */
  #searchLog(span: Span<number>): Promise<R[]> {
    return this.#inPieces(span, {
      edgeOf: async ({ first, end }, entries) => {
        const [edge] = await this.#db.slowRead<{ seq: number }>(
          `select seq from event where ${inAccount} and ${isPublic} and ${inSpan} order by seq ${this.#direction} limit 1 offset :entries`,
          { ...this.#params, firstPlace: first, endPlace: end, entries: this.#isUpward ? entries : entries - 1 },
        )
        return edge?.seq
      },
      look: (piece) => this.#look('event', `${inAccount} and ${inSpan}`, piece),
    })
  }

  /** Reads the blocks that may match. */
  #searchBlocks(span: Span<number>): Promise<R[]> {
    const blocks = `select distinct block from event_block where ${blockCondition(this.#query.filter)}`
    return this.#inPieces(span, {
      edgeOf: async (rest, entries) => {
        const [edge] = await this.#db.slowRead<{ block: number }>(`${blocks} order by block ${this.#direction} limit 1 offset :entries`, {
          ...this.#params,
          ...blocksOf(rest),
          entries: Math.max(1, Math.floor(entries / blockSize)),
        })
        if (!edge) return undefined
        return this.#isUpward ? edge.block * blockSize : (edge.block + 1) * blockSize
      },
      look: (piece) => this.#look(`(${blocks}) found cross join event`, `${inAccount} and ${inBlock}`, piece),
    })
  }

  async #inPieces(span: Span<number>, { edgeOf, look }: Pick<Pieces<R, number>, 'edgeOf' | 'look'>): Promise<R[]> {
    const { rows } = await searchInPieces<R, number>(span, { isUpward: this.#isUpward, rows: this.#rows, edgeOf, look }, this.#sizes)
    return rows
  }
}

/** Positions in the log. */
function spanOf({ order, after, before }: FeedPage): Span<number> {
  const [lower, upper] = order === 'asc' ? [after, before] : [before, after]
  return { first: (lower ?? 0) + 1, end: upper ?? Number.MAX_SAFE_INTEGER }
}

const blocksOf = ({ first, end }: Span<number>): Record<string, number> => ({
  firstBlock: Math.floor(first / blockSize),
  lastBlock: Math.floor((end - 1) / blockSize),
})

const isRecipient =
  'exists (select 1 from recipient where recipient.id = event.recipient_id and lower(recipient.forward_path) = lower(:to))'

const conditionsOf = ({ type, to, since, until }: EventFilter): string[] => [
  ...(type === null ? [] : ['type = :type']),
  ...(to === null ? [] : [isRecipient]),
  ...(since === null ? [] : ['created_at >= :since']),
  ...(until === null ? [] : ['created_at < :until']),
]

/** What a block must contain to match. */
const blockCondition = ({ type, since, until }: EventFilter): string =>
  [
    `${inAccount} and ${type === null ? isPublic : 'type = :type'} and block >= :firstBlock and block <= :lastBlock`,
    ...(since === null ? [] : ['newest >= :since']),
    ...(until === null ? [] : ['oldest < :until']),
  ].join(' and ')

const paramsOf = ({ type, messageId, to, since, until }: EventFilter): Record<string, Value> => ({ type, messageId, to, since, until })
