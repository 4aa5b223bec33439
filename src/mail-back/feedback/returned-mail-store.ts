import type { BaseServices } from '../../platform/base-services.ts'
import { idFloor, newId } from '../../platform/id.ts'
import { clientNetwork, networkRule } from '../../platform/ip-address.ts'
import type { ClaimRange } from '../../platform/store/claims.ts'
import type { Database, Row, Statement } from '../../platform/store/database.ts'
import { firstRowsBySize, removeInPieces } from '../../platform/store/remove-in-pieces.ts'
import type { returnPathPurposes } from '../../platform/metrics/returned-mail-labels.ts'
import { TableWalk, type WalkedTable } from '../../platform/store/table-walk.ts'
import { costOf, type ReturnPathBox, type ReturnedMailBudget } from './returned-mail-budget.ts'
import { ReturnedMailRoom } from './returned-mail-room.ts'

/** What return-path addresses are for. */
export type ReturnPathPurpose = (typeof returnPathPurposes)[number]

/** An accepted message that is about to be stored. */
export interface Arrival {
  /** `rep_…`; the id of the row for the first recipient. */
  id: string
  /** From MAIL FROM; null for the null reverse-path. */
  reversePath: string | null
  recipients: ReturnPathRecipient[]
  remoteAddress: string
  ehloName: string
  tls: boolean
  /** True if it came with REQUIRETLS (RFC 8689). */
  requireTls: boolean
  /** Begins with our Received field; may be in shared memory. */
  content: Uint8Array
}

/** One of our addresses that a message came to. */
export interface ReturnPathRecipient {
  forwardPath: string
  purpose: ReturnPathPurpose
  /** The recipient whose token the address contains, verified; null if it has none. */
  recipientId: string | null
}

/** A stored message, as it came to one of our addresses. */
export interface ReturnedMail extends ReturnPathRecipient {
  /** `rep_…` */
  id: string
  /** Epoch, ms. */
  receivedAt: number
  /** From MAIL FROM; null for the null reverse-path. Proves nothing. */
  reversePath: string | null
  /** The client that delivered it. */
  remoteAddress: string
  /** bytes */
  size: number
  /** How often it was handled in vain. */
  retries: number
  /** True if it may go on only with REQUIRETLS (RFC 8689). */
  requireTls: boolean
}

/** Where mail comes from: the client's network, or the account of the recipient whose token is in the address, else `none`. */
export interface ReturnedMailSource {
  by: 'network' | 'account'
  name: string
}

const sourceColumns: Record<ReturnedMailSource['by'], string> = { network: 'network', account: 'token_account' }

export interface ReturnedMailRow extends Row {
  id: string
  received_at: number
  purpose: ReturnPathPurpose
  recipient_id: string | null
  reverse_path: string | null
  forward_path: string
  remote_address: string
  size: number
  retries: number
  require_tls: number | null
}

interface ReturnedMailStoreServices extends Pick<BaseServices, 'db' | 'clock'> {
  budget: ReturnedMailBudget
  /** Networks of providers that send us complaints by agreement; none by default. */
  complaintSources?: readonly string[]
}

/** Stores returned mail, and finds what is not settled yet. */
export class ReturnedMailStore {
  readonly #services: ReturnedMailStoreServices
  readonly #room: ReturnedMailRoom
  readonly #contents = new TableWalk('')
  readonly #isListedSource: (address: string) => boolean
  #arrived: (purposes: ReadonlySet<ReturnPathPurpose>) => void = () => {}

  constructor(services: ReturnedMailStoreServices) {
    this.#services = services
    this.#room = new ReturnedMailRoom(services)
    this.#isListedSource = networkRule(services.complaintSources ?? [])
  }

  /** Calls `listener` after each stored message, with its purposes. */
  onArrival(listener: (purposes: ReadonlySet<ReturnPathPurpose>) => void): void {
    this.#arrived = listener
  }

  /**
   * Stores a message, with a row for each of its recipients. Resolves when it is on disk. False if there is no room.
   * @throws StorageFullError
   */
  async keep(arrival: Arrival): Promise<boolean> {
    const { db, clock, budget } = this.#services
    const box = boxOf(arrival.recipients)
    const cost = costOf(arrival.content.length, arrival.recipients.length)
    if (!(await this.#room.take(box, this.#sourceOf(arrival, box), cost))) return false
    const now = clock.now()
    const rows = arrival.recipients.map((address, place) =>
      insertReturnedMail(place === 0 ? arrival.id : newId('rep', now), { arrival, address, now }),
    )
    try {
      await db.write([insertContent(arrival.id, { box, cost, bytes: arrival.content }), ...rows])
    } catch (error) {
      budget.giveBack(box, cost)
      throw error
    }
    this.#arrived(new Set(arrival.recipients.map(({ purpose }) => purpose)))
    return true
  }

  /**
   * Whose share of the box the message counts against: the token's, or the client network's. Null, without a share, for complaints from
   * agreed sources, because a large provider sends many.
   */
  #sourceOf({ recipients, remoteAddress }: Arrival, box: ReturnPathBox): string | null {
    if (box === 'proved' && recipients[0]?.recipientId) return recipients[0].recipientId
    if (recipients.every(({ purpose }) => purpose === 'complaint') && this.#isListedSource(remoteAddress)) return null
    return clientNetwork(remoteAddress)
  }

  /** The source after `name`, in alphabetical order, that has mail of this purpose to handle; null if there is none. */
  async nextSource(purpose: ReturnPathPurpose, { by, name }: ReturnedMailSource): Promise<string | null> {
    const column = sourceColumns[by]
    const [row] = await this.#services.db.read<{ name: string | null }>(
      `select min(${column}) as name from returned_mail
        where state = 'received' and purpose = :purpose and ${column} > :name and owner is null and due_at <= :now`,
      { purpose, name, now: this.#services.clock.now() },
    )
    return row?.name ?? null
  }

  /** When the first mail of this purpose that nobody handles is due, epoch ms; null if there is none. */
  async firstDue(purpose: ReturnPathPurpose): Promise<number | null> {
    const [row] = await this.#services.db.read<{ due_at: number | null }>(
      `select min(due_at) as due_at from returned_mail where state = 'received' and purpose = :purpose and owner is null`,
      { purpose },
    )
    return row?.due_at ?? null
  }

  /** The original message with our Received field in front; null if its content was deleted. */
  async content(id: string): Promise<Uint8Array | null> {
    const [row] = await this.#services.db.read<{ bytes: Uint8Array }>(
      'select c.bytes from returned_mail r join returned_mail_content c on c.id = r.content_id where r.id = :id',
      { id },
    )
    return row?.bytes ?? null
  }

  /** Counts what is stored. Call it before accepting the first message. */
  async measure(): Promise<void> {
    // Not on the reader thread, which runs only if somebody asks for lists. This reads an index and takes milliseconds.
    const rows = await this.#services.db.read<{ box: ReturnPathBox; cost: number }>(
      'select box, cast(sum(cost) as bigint) as cost from returned_mail_content group by box',
    )
    const costIn = (box: ReturnPathBox): number => rows.find((row) => row.box === box)?.cost ?? 0
    this.#services.budget.measured({ proved: costIn('proved'), open: costIn('open'), operator: costIn('operator') })
  }

  /** Applies retention: deletes settled contents after `contentMs`, and everything after `eventMs`. */
  async sweep({ contentMs, eventMs }: { contentMs: number; eventMs: number }): Promise<void> {
    const { db, clock } = this.#services
    const now = clock.now()
    await removeInPieces(db, [removeReturnedMail(now - eventMs)])
    await this.#contents.run(db, settledContents(db, now - contentMs), now)
    await this.measure()
  }
}

function boxOf(recipients: ReturnPathRecipient[]): ReturnPathBox {
  if (recipients.some(({ purpose }) => purpose === 'postmaster' || purpose === 'abuse')) return 'operator'
  return recipients.every(({ recipientId }) => recipientId !== null) ? 'proved' : 'open'
}

const insertContent = (id: string, { box, cost, bytes }: { box: ReturnPathBox; cost: number; bytes: Uint8Array }): Statement => ({
  sql: 'insert into returned_mail_content (id, box, cost, bytes) values (:id, :box, :cost, :bytes)',
  params: { id, box, cost, bytes },
})

interface NewReturnedMail {
  arrival: Arrival
  address: ReturnPathRecipient
  now: number
}

const insertReturnedMail = (id: string, { arrival, address, now }: NewReturnedMail): Statement => ({
  sql: `insert into returned_mail
          (id, received_at, purpose, recipient_id, reverse_path, forward_path, remote_address, ehlo_name, tls, size, content_id, state,
           due_at, network, token_account, require_tls)
        values
          (:id, :now, :purpose, :recipientId, :reversePath, :forwardPath, :remoteAddress, :ehloName, :tls, :size, :contentId, 'received',
           :now, :network, coalesce((select account_id from recipient where id = :recipientId), 'none'), :requireTls)`,
  params: {
    id,
    now,
    ...address,
    reversePath: arrival.reversePath,
    remoteAddress: arrival.remoteAddress,
    ehloName: arrival.ehloName,
    tls: arrival.tls ? 1 : 0,
    size: arrival.content.length,
    contentId: arrival.id,
    network: clientNetwork(arrival.remoteAddress),
    requireTls: arrival.requireTls ? 1 : null,
  },
})

/**
 * Claims a source's mail of one purpose that is due, the oldest first; returns the rows in no particular order. What would be due after
 * `latest` is due now, because the clock was set back.
 */
export const claimReturnedMail = (
  purpose: ReturnPathPurpose,
  { by, name }: ReturnedMailSource,
  range: ClaimRange & { latest: number },
): Statement => ({
  sql: `update returned_mail set owner = :owner
         where id in (select id from returned_mail
                       where state = 'received' and purpose = :purpose and ${sourceColumns[by]} = :name and owner is null
                         and (due_at <= :now or due_at > :latest)
                       order by due_at, id limit :limit offset :skip) and owner is null
         returning id, received_at, purpose, recipient_id, reverse_path, forward_path, remote_address, size, retries, require_tls`,
  params: { purpose, name, ...range },
})

export const returnedMailOf = (row: ReturnedMailRow): ReturnedMail => ({
  id: row.id,
  receivedAt: row.received_at,
  purpose: row.purpose,
  recipientId: row.recipient_id,
  reversePath: row.reverse_path,
  forwardPath: row.forward_path,
  remoteAddress: row.remote_address,
  size: row.size,
  retries: row.retries,
  requireTls: row.require_tls === 1,
})

const removeReturnedMail = (cutoff: number): Statement => ({
  sql: 'delete from returned_mail where id in (select id from returned_mail where id < :before order by id limit :rows offset :skip)',
  params: { before: idFloor('rep', cutoff + 1) },
})

const contentsAtOnce = 256

/** Contents whose rows are all settled or gone. */
const settledContents = (db: Pick<Database, 'read'>, cutoff: number): WalkedTable<string> => ({
  async piece(after) {
    const found = await db.read<{ id: string; cost: number }>(
      `select id, cost from returned_mail_content where id > :after and id < :before order by id limit ${contentsAtOnce}`,
      { after, before: idFloor('rep', cutoff + 1) },
    )
    const piece = firstRowsBySize(found, ({ cost }) => cost)
    const last = piece.at(-1)?.id
    return last === undefined ? null : { last, isEnd: piece.length === found.length && found.length < contentsAtOnce }
  },
  remove: (after, last) => [
    {
      sql: `delete from returned_mail_content
             where id > :after and id <= :last
               and not exists (select 1 from returned_mail r where r.content_id = returned_mail_content.id and r.state = 'received')`,
      params: { after, last },
    },
  ],
})
