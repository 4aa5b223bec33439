import type { BaseServices } from '../../platform/base-services.ts'
import type { ClockJump, ClockWatch } from '../../platform/clock-watch.ts'
import type { CancelTimer } from '../../platform/clock.ts'
import type { Health } from '../../platform/health.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { Row, Statement } from '../../platform/store/database.ts'
import { lastSeen, seen } from './last-place.ts'

interface ReprieveServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
  health: Pick<Health, 'report' | 'clear'>
  watch: Pick<ClockWatch, 'look' | 'onJump'>
}

/** A time in which the server was off or asleep, or that its clock skipped. Times are epoch, ms. */
interface Outage {
  missedMs: number
  endedAt: number
  /** When a mail host first answered since then; null if none has. */
  answeredAt: number | null
}

/** What a reprieve means for a recipient. */
interface Extension {
  /** When it is given up, epoch ms. */
  endsAt: number
  /** No retry waits longer than this, ms. */
  maxWaitMs: number
}

const maxMs = 60 * 60_000

/**
 * After an outage, one attempt says little: the network may not be up yet, and a host may greylist. So mail whose time ran out in the
 * meantime gets an hour, counted from the first answer of any mail host, before it is given up. While none answers, it waits for as long
 * as new mail would. An outage of less than half of that hour takes too little of a mail's time to count.
 */
export class Reprieve {
  readonly #services: ReprieveServices
  readonly #giveUpAfterMs: number
  readonly #lastsMs: number
  readonly #listeners: ((missedMs: number, now: number) => void)[] = []
  #outage: Outage | null = null
  /** The one that ended with the start; null if there was none. */
  #atStart: Outage | null = null
  #cancelTimer: CancelTimer = () => {}
  #cancelBeat: CancelTimer = () => {}

  constructor(services: ReprieveServices, giveUpAfterMs: number) {
    this.#services = services
    this.#giveUpAfterMs = giveUpAfterMs
    this.#lastsMs = Math.min(maxMs, giveUpAfterMs)
    services.watch.onJump((jump) => this.#noteJump(jump))
  }

  /** Calls `listener` with the length of each outage, also of the one before the start, ms; negative if the clock was set back after one. */
  onOutage(listener: (missedMs: number, now: number) => void): void {
    this.#listeners.push(listener)
    if (this.#atStart) listener(this.#atStart.missedMs, this.#atStart.endedAt)
  }

  /** Finds out how long the server was off. Call it before anything is recorded. */
  async start(): Promise<void> {
    const { db, clock } = this.#services
    const now = clock.now()
    const [stored] = await db.read<OutageRow>('select missed_ms, ended_at, answered_at from outage')
    const missedMs = now - ((await lastSeen(db)) ?? now)
    if (this.#counts(missedMs)) {
      this.#atStart = { missedMs, endedAt: now, answeredAt: null }
      await this.#begin({ ...this.#atStart })
    } else if (stored) {
      // The server was stopped soon after an outage.
      this.#outage = { missedMs: stored.missed_ms, endedAt: stored.ended_at, answeredAt: stored.answered_at }
      if (this.isInForce()) await this.#report(this.#outage)
    }
    this.#beat()
  }

  async stop(): Promise<void> {
    this.#cancelTimer()
    this.#cancelBeat()
    await this.#keep(seen(this.#services.clock.now()))
  }

  isInForce(): boolean {
    this.#services.watch.look()
    if (this.#outage === null) return false
    const now = this.#services.clock.now()
    if (now >= this.#outage.endedAt && now < this.#endOf(this.#outage)) return true
    this.#end()
    return false
  }

  /** How a recipient with this `expiresAt` is treated; null if as usual. */
  extensionOf(expiresAt: number): Extension | null {
    const now = this.#services.clock.now()
    if (now + (this.#outage ? this.#lastsMs : 0) < expiresAt) return null
    if (!this.isInForce() || this.#outage === null) return null
    const endsAt = this.#endOf(this.#outage)
    return expiresAt < endsAt ? { endsAt, maxWaitMs: Math.min(this.#wait(now, this.#outage), this.#lastsMs / 4) } : null
  }

  /** How long to wait until another attempt of what would have no more of them, ms; null if it has none. */
  waitMs(): number | null {
    return this.isInForce() && this.#outage ? this.#wait(this.#services.clock.now(), this.#outage) : null
  }

  /** A mail host has answered, so the network is there. */
  noteAnswer(): void {
    if (this.#outage === null || this.#outage.answeredAt !== null) return
    this.#outage.answeredAt = this.#services.clock.now()
    this.#arm(this.#outage)
    void this.#keep({
      sql: 'update outage set answered_at = :now where answered_at is null',
      params: { now: this.#outage.answeredAt },
    })
  }

  /** A jump in the middle of a reprieve adds to its outage; one that undoes the outage ends it. */
  #noteJump({ from, to }: ClockJump): void {
    const before = this.#outage && from < this.#endOf(this.#outage) ? this.#outage : null
    const missedMs = (before?.missedMs ?? 0) + to - from
    if (this.#counts(missedMs)) void this.#begin({ missedMs, endedAt: to, answeredAt: null })
    else if (before) this.#end()
    else return
    for (const listener of this.#listeners) listener(to - from, to)
  }

  #counts(missedMs: number): boolean {
    return missedMs >= this.#lastsMs / 2
  }

  async #begin(outage: Outage): Promise<void> {
    this.#outage = outage
    const { missedMs, endedAt } = outage
    await this.#keep(
      { sql: 'delete from outage' },
      { sql: 'insert into outage (missed_ms, ended_at) values (:missedMs, :endedAt)', params: { missedMs, endedAt } },
    )
    await this.#report(outage)
  }

  #end(): void {
    this.#cancelTimer()
    this.#outage = null
    this.#services.health.clear('outage')
    void this.#keep({ sql: 'delete from outage' })
  }

  /** An operator should know if it matters to any mail. Never rejects. */
  async #report(outage: Outage): Promise<void> {
    this.#arm(outage)
    const { missedMs, endedAt } = outage
    if (!(await this.#endsAnyBy(endedAt + this.#lastsMs)) || this.#outage !== outage) return
    this.#services.health.report('outage', { from: isoTime(endedAt - missedMs), to: isoTime(endedAt) })
  }

  async #endsAnyBy(end: number): Promise<boolean> {
    const { db, log } = this.#services
    try {
      return (await db.slowRead(anyEnding, { end })).length > 0
    } catch (error) {
      log.error({ error }, 'which mail an outage concerns could not be read')
      return true
    }
  }

  /** Says now and then that the server runs: a time in which no mail came was no outage. */
  #beat(): void {
    const { clock } = this.#services
    this.#cancelBeat = clock.at(clock.now() + this.#lastsMs / 6, () => {
      void this.#keep(seen(clock.now()))
      this.#beat()
    })
  }

  #arm(outage: Outage): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#services.clock.at(this.#endOf(outage), () => {
      if (this.isInForce()) this.#arm(outage)
    })
  }

  #endOf({ endedAt, answeredAt }: Outage): number {
    return answeredAt === null ? endedAt + this.#giveUpAfterMs : answeredAt + this.#lastsMs
  }

  /** As long as the reprieve has lasted, so that attempts come soon at first, and then less and less often. */
  #wait(now: number, { endedAt }: Outage): number {
    return Math.max(now - endedAt, this.#lastsMs / 60)
  }

  /** The disk may be full: then only this process knows of the outage. Never rejects. */
  async #keep(...batch: Statement[]): Promise<void> {
    const { db, log } = this.#services
    await db
      .write(batch)
      .catch((error: unknown) => log.error({ error }, 'the times of an outage could not be recorded; the next start may misjudge it'))
  }
}

interface OutageRow extends Row {
  missed_ms: number
  ended_at: number
  answered_at: number | null
}

/** Whether the time of any mail in the queue ends by then. Uses the partial indexes recipient_expiry and recipient_owned. */
const anyEnding = `
  select id from recipient where due_at is not null and owner is null and held = 0 and expires_at <= :end
   union all
  select id from recipient where owner is not null and expires_at <= :end
   limit 1`
