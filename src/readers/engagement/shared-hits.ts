import type { BaseServices } from '../../platform/base-services.ts'
import { messageOf } from '../../platform/errors.ts'
import type { Row, Statement } from '../../platform/store/database.ts'
import type { Nodes } from '../../platform/store/nodes.ts'
import type { Secrets } from '../../senders/account/key-file.ts'
import { recipientNames } from './hit-store.ts'
import type { ReaderHit } from './reader-hit.ts'
import type { RecentHit } from './recent-hits.ts'

interface SharedHitsServices extends Pick<BaseServices, 'db' | 'log'> {
  secrets: Pick<Secrets, 'seal' | 'open'>
  nodes: Pick<Nodes, 'live'>
}

interface SharedHitRow extends Row {
  id: string
  recipient_id: string
  request: Uint8Array
  /** Null for what is not stored as a hit. */
  type: 'open' | 'click' | null
  link: string | null
  ip_address: string | null
  user_agent: string | null
  bot: number
  bot_reason: string | null
  bot_confidence: number
  happened_at: number
  event_id: string | null
}

/** What all nodes have recorded of a recipient. */
export interface KnownHits {
  /** How many rows that is. */
  rows: number
  hits: RecentHit[]
}

const sharedSql = `
  select s.id, s.recipient_id, s.request, s.happened_at, h.type, h.link, h.ip_address, h.user_agent, h.bot, h.bot_reason, h.bot_confidence,
         h.event_id
    from shared_hit s left join hit h on h.id = s.id
   where s.recipient_id in (${recipientNames([]).names}) order by s.happened_at, s.id`

/**
 * Recent hits where several nodes see those of one recipient: a machine whose requests reach two of them is to be recognised as at one. They are
 * rows, sealed, for as long as one node would hold them in memory. A node that is alone writes none.
 */
export class SharedHits {
  readonly #services: SharedHitsServices
  #isShared = false

  constructor(services: SharedHitsServices) {
    this.#services = services
  }

  /** Whether other nodes see hits too. It stays so when they have gone: what they saw counts for a while. */
  get isShared(): boolean {
    return (this.#isShared ||= this.#services.nodes.live().length > 1)
  }

  /** What all nodes have recorded of these recipients, at most `subjectsAtOnce`, in order. */
  async of(recipientIds: readonly string[]): Promise<Map<string, KnownHits>> {
    const rows = await this.#services.db.read<SharedHitRow>(sharedSql, recipientNames(recipientIds).params)
    const byRecipient = Map.groupBy(rows, (row) => row.recipient_id)
    const knownOf = (those: SharedHitRow[]): KnownHits => ({ rows: those.length, hits: those.flatMap((row) => this.#hitOf(row)) })
    return new Map(recipientIds.map((id) => [id, knownOf(byRecipient.get(id) ?? [])]))
  }

  /**
   * Adds the hits of a recipient, in the batch that records them. Fails (`expect`) if another node has added some since `known` was read: read
   * them, and judge again.
   */
  keeping(recipientId: string, { rows: known }: KnownHits, hits: readonly RecentHit[]): Statement[] {
    const unchanged = {
      sql: `update recipient set open_count = open_count
             where id = :recipientId and (select count(*) from shared_hit where recipient_id = :recipientId) = :known`,
      params: { recipientId, known },
      expect: 1,
      locks: recipientId,
    }
    return [unchanged, ...hits.map((hit) => this.#insert(hit))]
  }

  /** Removes what is known of recipients without a hit since `before` (epoch, ms). */
  async sweep(before: number): Promise<void> {
    const { db } = this.#services
    // Mostly there is nothing to write.
    if ((await db.read('select id from shared_hit where happened_at < :before limit 1', { before })).length === 0) return
    await db.write([forgetBefore(before)])
  }

  #insert({ id, came }: RecentHit): Statement {
    return {
      sql: 'insert into shared_hit (id, recipient_id, happened_at, request) values (:id, :recipientId, :at, :request)',
      params: {
        id,
        recipientId: came.recipientId,
        at: came.at,
        request: this.#services.secrets.seal(Buffer.from(JSON.stringify(came)), contextOf(id)),
      },
    }
  }

  /** None if it cannot be read: the others are judged without it. */
  #hitOf(row: SharedHitRow): RecentHit[] {
    const { secrets, log } = this.#services
    const { id, type, link, happened_at: at } = row
    try {
      const came = JSON.parse(Buffer.from(secrets.open(row.request, contextOf(id))).toString()) as ReaderHit
      const verdict = { bot: row.bot === 1, reason: row.bot_reason, confidence: row.bot_confidence / 100 }
      const reader = { ipAddress: row.ip_address, userAgent: row.user_agent }
      return [{ id, came, stored: type === null ? null : { id, type, link, at, verdict, ...reader }, eventId: row.event_id }]
    } catch (error) {
      log.warn({ problem: messageOf(error) }, 'a hit that another node has recorded cannot be read')
      return []
    }
  }
}

/** Binds a request to its hit. */
const contextOf = (id: string): string => `shared hit ${id}`

const forgetBefore = (before: number): Statement => ({
  sql: `delete from shared_hit
         where happened_at < :before
           and not exists (select 1 from shared_hit later where later.recipient_id = shared_hit.recipient_id and later.happened_at >= :before)`,
  params: { before },
})
