import type { BaseServices } from '../../platform/base-services.ts'
import { setTimeout as pause } from 'node:timers/promises'
import type { Secrets } from '../../senders/account/key-file.ts'
import { messageOf, SternaError } from '../../platform/errors.ts'
import { idFloor, newId } from '../../platform/id.ts'
import { parseAddress, type Address } from '../../platform/smtp/address.ts'
import type { Row } from '../../platform/store/database.ts'
import { pageClause, type Page } from '../../platform/store/page-clause.ts'
import { retryMs } from '../../platform/store/work-loop.ts'
import { removeInPieces } from '../../platform/store/remove-in-pieces.ts'
import { tableWindows } from '../../platform/store/table-windows.ts'
import { leftOnServer } from '../../platform/store/store.ts'
import type { Upkeep } from '../../platform/store/upkeep.ts'
import type { ErasedAddress } from '../../mail/suppression/erased-address.ts'
import { addressForms } from './address-forms.ts'
import { AddressErasure } from './erase-address.ts'
import { removeContent } from './erase-message.ts'
import { noCounts, type ErasedCounts, type ErasureScope } from './erasing.ts'

interface ErasuresServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
  /** The name of this process. */
  owner: string
  secrets: Pick<Secrets, 'seal' | 'open'>
  upkeep: Pick<Upkeep, 'overwriteAll'> | null
  erasedAddress: ErasedAddress
}

/** A request and its result. Does not contain the address. */
export interface Erasure extends ErasureScope {
  /** `era_…` */
  id: string
  counts: ErasedCounts
  /** Epoch, ms. */
  createdAt: number
  /** Null while it is under way. */
  finishedAt: number | null
  /** What is left of it when it is done, and what to do about that; null if all is overwritten. */
  left: string | null
}

interface ErasureRow extends Row {
  id: string
  account_id: string | null
  sandbox: number
  address: Uint8Array | null
  counts: string
  created_at: number
  finished_at: number | null
}

/** Unfinished erasures per account. Each one searches everything. */
const maxUnderWay = 100

const columns = 'id, account_id, sandbox, address, counts, created_at, finished_at'

/**
 * Erases addresses, one at a time. A request is stored until it is done, with the address encrypted, so it continues
 * after a crash. The one under way has the name of its process, so that no other works on it too. Every step may be repeated.
 */
export class Erasures {
  readonly #services: ErasuresServices
  #turn: Promise<void> = Promise.resolve()
  readonly #underWay = new Map<string, Promise<void>>()
  #isStopped = false

  constructor(services: ErasuresServices) {
    this.#services = services
  }

  /**
   * Starts erasing an address. On disk when the promise resolves; `finished` waits for the rest.
   * @throws SternaError `rate_limit_exceeded` if many erasures of the account are under way
   */
  async begin(address: Address, { accountId, sandboxOnly }: ErasureScope): Promise<Erasure> {
    const { db, clock, secrets } = this.#services
    const now = clock.now()
    const id = newId('era', now)
    const sealed = secrets.seal(Buffer.from(address.address), contextOf(id))
    const counts = noCounts()
    const [written] = await db.write([
      {
        sql: `insert into erasure (id, account_id, sandbox, address, counts, created_at)
              select :id, :accountId, :sandbox, :sealed, :counts, :now
               where (select count(*) from erasure where finished_at is null and account_id = :accountId) < ${maxUnderWay}`,
        params: { id, accountId, sandbox: sandboxOnly ? 1 : 0, sealed, counts: JSON.stringify(counts), now },
        ...(accountId !== null && { locks: accountId }),
      },
    ])
    if (written?.changes === 0) {
      throw new SternaError(
        'rate_limit_exceeded',
        `${maxUnderWay} erasures of this account are under way. Wait until some have finished.`,
        {
          retryAfter: 60,
        },
      )
    }
    this.#start(id)
    return { id, accountId, sandboxOnly, counts, createdAt: now, finishedAt: null, left: this.#left }
  }

  /** Waits until an erasure is done or has failed for now, here or at another process. A failed one resumes within a minute. */
  async finished(id: string): Promise<void> {
    await this.#underWay.get(id)
    while (!this.#isStopped && (await this.#isElsewhere(id))) await pause(retryMs)
  }

  async #isElsewhere(id: string): Promise<boolean> {
    const { db, owner } = this.#services
    const sql = 'select id from erasure where id = :id and owner <> :owner and owner in (select name from node)'
    return (await db.read(sql, { id, owner })).length > 0
  }

  /** Resumes unfinished erasures, and deletes content that nobody waits for any more. Call it about once a minute. */
  async resume(): Promise<void> {
    const { db } = this.#services
    for (const { id } of await db.read<{ id: string }>('select id from erasure where finished_at is null order by id')) {
      if (!this.#underWay.has(id)) this.#start(id)
    }
    await this.#removeWaitingContents()
  }

  /** The erasure with this id, in this account; null: in any. */
  async find(id: string, accountId: string | null): Promise<Erasure | undefined> {
    const [row] = await this.#services.db.slowRead<ErasureRow>(
      `select ${columns} from erasure where id = :id and (account_id = :accountId or :accountId = '')`,
      { id, accountId: accountId ?? '' },
    )
    return row && this.#erasureOf(row)
  }

  /** A page, newest first, with one extra row, for `pageClause`. `accountId`: see `find`. */
  async page(accountId: string | null, page: Page): Promise<Erasure[]> {
    const { condition, order, params } = pageClause(page)
    const rows = await this.#services.db.slowRead<ErasureRow>(
      `select ${columns} from erasure where (account_id = :accountId or :accountId = '') and ${condition} ${order}`,
      { accountId: accountId ?? '', ...params },
    )
    return rows.map((row) => this.#erasureOf(row))
  }

  /** Deletes the records of erasures that finished before `cutoff` (epoch, ms). */
  async sweep(cutoff: number): Promise<void> {
    const sql =
      'delete from erasure where id in (select id from erasure where id < :before and finished_at is not null order by id limit :rows offset :skip)'
    await removeInPieces(this.#services.db, [{ sql, params: { before: idFloor('era', cutoff) } }])
  }

  /** Starts nothing new. Unfinished erasures continue after the next start. */
  stop(): void {
    this.#isStopped = true
  }

  #start(id: string): void {
    const { log } = this.#services
    const done = this.#turn
      .then(() => this.#run(id))
      .catch((error: unknown) =>
        log[this.#isStopped ? 'debug' : 'error'](
          { erasureId: id, reason: messageOf(error) },
          'an erasure was interrupted and will be resumed',
        ),
      )
      .finally(() => this.#underWay.delete(id))
    this.#underWay.set(id, done)
    this.#turn = done
  }

  async #run(id: string): Promise<void> {
    const { db, owner } = this.#services
    if (this.#isStopped) return
    const row = await this.#claim(id)
    if (!row?.address) return
    try {
      await this.#erase(row, row.address)
    } finally {
      await db.write([{ sql: 'update erasure set owner = null where id = :id and owner = :owner', params: { id, owner } }])
    }
  }

  /** Undefined if it is done, or another process has it in hand. */
  async #claim(id: string): Promise<ErasureRow | undefined> {
    const { db, owner } = this.#services
    const sql = `update erasure set owner = :owner
                  where id = :id and finished_at is null and (owner is null or owner = :owner or owner not in (select name from node))
                  returning ${columns}`
    const [claimed] = await db.write([{ sql, params: { id, owner } }])
    return claimed?.rows[0] as ErasureRow | undefined
  }

  async #erase(row: ErasureRow, sealed: Uint8Array): Promise<void> {
    const { db, clock, log, secrets, upkeep, erasedAddress, owner } = this.#services
    const { id } = row
    const address = parseAddress(Buffer.from(secrets.open(sealed, contextOf(id))).toString())
    if (!address.ok) throw new Error(address.fault)
    const { counts, ...scope } = this.#erasureOf(row)
    const erasure = new AddressErasure({
      db,
      clock,
      scope,
      forms: addressForms(address),
      erased: erasedAddress(address.address),
      counts,
    })
    for (let isClean = false; !isClean;) {
      const round = await erasure.round()
      const counted = { id, owner, counts: JSON.stringify(counts) }
      await db.write([{ sql: 'update erasure set counts = :counts where id = :id and owner = :owner', params: counted, expect: 1 }])
      isClean = round.isClean && !round.isInHand
      if (this.#isStopped) return
      if (round.isInHand) await pause(retryMs)
    }
    await upkeep?.overwriteAll()
    const finishing = 'update erasure set address = null, finished_at = :now, owner = null where id = :id and owner = :owner'
    await db.write([{ sql: finishing, params: { id, owner, now: clock.now() }, expect: 1 }])
    log.info({ erasureId: id, accountId: row.account_id, ...counts }, 'an address was erased')
  }

  get #left(): string | null {
    return this.#services.upkeep === null ? leftOnServer : null
  }

  #erasureOf(row: ErasureRow): Erasure {
    return {
      id: row.id,
      accountId: row.account_id,
      sandboxOnly: row.sandbox === 1,
      counts: { ...noCounts(), ...(JSON.parse(row.counts) as Partial<ErasedCounts>) },
      createdAt: row.created_at,
      finishedAt: row.finished_at,
      left: this.#left,
    }
  }

  async #removeWaitingContents(): Promise<void> {
    const { db } = this.#services
    // Mostly there is none, and the reader thread need not open for that.
    if ((await db.read('select message_id from content_to_erase limit 1')).length === 0) return
    for await (const window of tableWindows(db, { table: 'content_to_erase', key: 'message_id', start: '' })) {
      const rows = await db.slowRead<{ message_id: string; chunks: number }>(
        `select e.message_id, (select count(*) from content c where c.message_id = e.message_id) as chunks from content_to_erase e
          where e.message_id > :after and e.message_id <= :upto
            and not exists (select 1 from recipient r where r.message_id = e.message_id and r.due_at is not null)`,
        { ...window },
      )
      for (const { message_id: messageId, chunks } of rows) {
        await removeContent(db, messageId, chunks)
        await db.write([{ sql: 'delete from content_to_erase where message_id = :messageId', params: { messageId } }])
      }
    }
  }
}

/** Binds the encrypted address to its erasure. */
const contextOf = (id: string): string => `erasure ${id}`
