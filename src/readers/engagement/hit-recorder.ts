import type { BaseServices } from '../../platform/base-services.ts'
import { setTimeout as pause } from 'node:timers/promises'
import type { CancelTimer } from '../../platform/clock.ts'
import { newId } from '../../platform/id.ts'
import { ConflictError, type Statement } from '../../platform/store/database.ts'
import type { EndDuty } from '../../platform/store/nodes.ts'
import { isTransientFault, WorkLoop } from '../../platform/store/work-loop.ts'
import { isErasedAddress } from '../../mail/suppression/erased-address.ts'
import type { Hit, HitMessage, HitJudgement } from '../tracking/hit.ts'
import type { AddressKeeping, ReaderHit } from './reader-hit.ts'
import {
  hundredths,
  insertHit,
  readSubjects,
  readUnsettled,
  recordRejudged,
  recount,
  settleHit,
  subjectsAtOnce,
  updateVerdict,
  type HitSubject,
  type JudgedHit,
} from './hit-store.ts'
import { keptReader } from './kept-reader.ts'
import { RecentHits, type RecentHit } from './recent-hits.ts'
import type { KnownHits, SharedHits } from './shared-hits.ts'

interface HitRecorderServices extends Pick<BaseServices, 'db' | 'clock' | 'log'> {
  judge(message: HitMessage): HitJudgement[]
  shared: SharedHits
}

interface HitRecorderSettings {
  /** ms between a hit and its event */
  settleMs: number
  addresses: AddressKeeping
  /** The scheme of tracked links. */
  scheme: 'http' | 'https'
}

/** What to do about a recipient. */
interface Step {
  statements: Statement[]
  /** Called once they are written. */
  remember(): void
}

/** Hits waiting to be written; beyond that, requests are served but not recorded. */
const maxWaiting = 2_000
/** Per recipient, so that one token cannot fill the log or a webhook. */
const maxPerRecipient = 100
/** By machines. A scanner that follows every link must leave room for a person. */
const maxPerMachines = 50
/** How many of a recipient's last hits are judged along with a new one. */
const judgedTogether = 20
/** How long the first hit waits for others to be written with it, ms. */
const gatherMs = 100
/** The pause after a step, as a multiple of its duration. Mail comes first. */
const restFactor = 3
/** How long to judge hits before yielding to other work, ms. */
const turnMs = 3
/** ms that hits are remembered, because later hits may show what they were. */
export const memoryMs = 15 * 60_000
const settledAtOnce = 100
/** How often whoever settles the hits of all nodes looks for them, ms. */
const lookMs = 1_000

/**
 * Records hits by readers and machines, after the response. Stores and counts a hit at once, with a first verdict, and appends its event
 * once it has settled. A later verdict corrects it, with an event of its own if the first is already written.
 */
export class HitRecorder {
  readonly #services: HitRecorderServices
  readonly #settings: HitRecorderSettings
  readonly #waiting: ReaderHit[] = []
  readonly #recent = new RecentHits()
  readonly #loop: WorkLoop
  #cancelTimer: CancelTimer = () => {}
  #settles = false
  #isStopped = false

  constructor(services: HitRecorderServices, settings: HitRecorderSettings) {
    this.#services = services
    this.#settings = settings
    this.#loop = new WorkLoop(services.log, { run: () => this.#work(), fault: 'opens and clicks cannot be recorded', gatherMs })
  }

  /** Settles hits from now on, whichever process has recorded them. Returns what ends that. */
  settle(): EndDuty {
    this.#settles = true
    this.#loop.wake()
    return () => void (this.#settles = false)
  }

  /** Looks whether there is something to settle. Call it about once a minute: another node may have begun to record hits. */
  look(): void {
    this.#loop.wake()
  }

  /** False if a further hit of this recipient would not be recorded. */
  takes(recipientId: string): boolean {
    return this.#waiting.length < maxWaiting && this.#recent.of(recipientId).length < maxPerRecipient && !this.#isStopped
  }

  /** Never throws, and never waits. */
  record(hit: ReaderHit): void {
    if (!this.takes(hit.recipientId)) return
    this.#waiting.push(hit)
    this.#loop.wake()
  }

  /** Writes what is waiting. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    await this.#loop.stop()
    if (this.#waiting.length > 0)
      await this.#work().catch((error: unknown) => this.#services.log.error({ error }, 'the last opens and clicks are lost'))
  }

  async #work(): Promise<void> {
    try {
      while (this.#waiting.length > 0) await this.#rested(() => this.#writeSome())
      if (!this.#settles) return this.#wakeLater()
      while (!this.#isStopped && (await this.#settleSome())) await pause(0)
    } finally {
      this.#recent.forgetBefore(this.#services.clock.now() - memoryMs)
    }
  }

  async #rested(act: () => Promise<void>): Promise<void> {
    const start = performance.now()
    await act()
    if (!this.#isStopped) await pause((performance.now() - start) * restFactor)
  }

  async #writeSome(): Promise<void> {
    const hits = this.#waiting.slice(0, subjectsAtOnce)
    try {
      await this.#writeHits(hits)
    } catch (error) {
      // If some cannot be written, the others must not wait for them.
      if (!isTransientFault(error)) this.#waiting.splice(0, hits.length)
      throw error
    }
  }

  async #writeHits(hits: ReaderHit[]): Promise<void> {
    const { db, shared } = this.#services
    const byRecipient = Map.groupBy(hits, ({ recipientId }) => recipientId)
    const recipientIds = [...byRecipient.keys()]
    const subjects = await readSubjects(db, recipientIds)
    const known = shared.isShared ? await shared.of(recipientIds) : null
    for (const [recipientId, ofAll] of known ?? []) this.#recent.learn(recipientId, ofAll.hits)
    const steps: Step[] = []
    let turnStartedAt = performance.now()
    for (const [recipientId, came] of byRecipient) {
      const subject = subjects.get(recipientId)
      if (!subject || isErasedAddress(subject.to)) continue
      steps.push(this.#stepOf(subject, came, known?.get(recipientId)))
      if (performance.now() - turnStartedAt < turnMs) continue
      await pause(0)
      turnStartedAt = performance.now()
    }
    const batch = steps.flatMap(({ statements }) => statements)
    if (batch.length > 0 && !(await this.#written(batch))) return
    for (const { remember } of steps) remember()
    this.#waiting.splice(0, hits.length)
  }

  /**
   * What to write for a recipient's new hits, and for earlier hits whose verdict they change.
   * @param ofAll what all nodes know of the recipient, if there are others
   */
  #stepOf(subject: HitSubject, came: ReaderHit[], ofAll: KnownHits | undefined): Step {
    const all = this.#recent.of(subject.recipientId)
    const known = all.slice(-judgedTogether)
    const fresh = came.slice(0, Math.max(0, maxPerRecipient - Math.max(subject.stored, all.length)))
    const verdicts = this.#verdictsOn(subject, [...known.map((hit) => hit.came), ...fresh])
    let machines = subject.storedOfMachines
    const added = fresh
      .map((hit, place) => this.#recentOf(subject, hit, verdicts[known.length + place] as HitJudgement))
      .filter(({ stored }) => !stored?.verdict.bot || machines++ < maxPerMachines)
    const changed = known.flatMap((hit, place) => {
      const verdict = verdicts[place] as HitJudgement
      return hit.stored && isNews(verdict, hit.stored.verdict, hit.eventId !== null) ? [{ hit, stored: { ...hit.stored, verdict } }] : []
    })
    const now = this.#services.clock.now()
    const statements = [
      ...(ofAll && added.length > 0 ? this.#services.shared.keeping(subject.recipientId, ofAll, added) : []),
      ...added.flatMap(({ stored }) => (stored ? [insertHit(subject, stored)] : [])),
      ...changed.map(({ stored }) => updateVerdict(stored.id, stored.verdict)),
      ...changed.flatMap(({ hit, stored }) => (hit.eventId === null ? [] : [recordRejudged(subject, stored, hit.eventId, now)])),
    ]
    return {
      statements: statements.length === 0 ? [] : [...statements, recount(subject)],
      remember: () => {
        for (const { hit, stored } of changed) hit.stored = stored
        for (const hit of added) this.#recent.add(hit)
      },
    }
  }

  #verdictsOn({ deliveredAt }: HitSubject, hits: ReaderHit[]): HitJudgement[] {
    const links = Math.max(0, ...hits.map((hit) => hit.links))
    const since = deliveredAt ?? Math.min(...hits.map(({ at }) => at))
    const judged = hits.map(({ what, at, method, headers, ip }): Hit => ({ what, method, headers, ip, afterDeliveryMs: at - since }))
    return this.#services.judge({ links, scheme: this.#settings.scheme, hits: judged })
  }

  #recentOf({ isAnonymous }: HitSubject, came: ReaderHit, verdict: HitJudgement): RecentHit {
    const { what, link, at } = came
    const id = newId('hit', at)
    if (what === 'honeypot' || came.method !== 'GET') return { id, came, stored: null, eventId: null }
    const reader = keptReader(came, isAnonymous, this.#settings.addresses)
    const stored: JudgedHit = { id, type: what === 'open' ? 'open' : 'click', link, at, verdict, ...reader }
    return { id, came, stored, eventId: null }
  }

  /** True if there may be more. */
  async #settleSome(): Promise<boolean> {
    const { db, clock } = this.#services
    const now = clock.now()
    const rows = await readUnsettled(db, now - this.#settings.settleMs, settledAtOnce)
    const settled = rows.map((row) => ({ row, ...settleHit(row, now) }))
    if (settled.length > 0) {
      if (!(await this.#written(settled.flatMap(({ statements }) => statements)))) return true
      for (const { row, eventId } of settled) this.#noteEvent(row.recipient_id, row.id, eventId)
    }
    if (rows.length === settledAtOnce) return true
    // Regardless of time, because the clock may have been set back.
    const [next] = await readUnsettled(db, Number.MAX_SAFE_INTEGER, 1)
    this.#wakeLater(next?.happened_at)
    return false
  }

  /** False if a recipient was erased or removed meanwhile. Then read again what is left. */
  async #written(batch: Statement[]): Promise<boolean> {
    try {
      await this.#services.db.write(batch, { mayBatch: true })
      return true
    } catch (error) {
      if (error instanceof ConflictError) return false
      throw error
    }
  }

  #noteEvent(recipientId: string, hitId: string, eventId: string): void {
    const hit = this.#recent.of(recipientId).find(({ stored }) => stored?.id === hitId)
    if (hit) hit.eventId = eventId
  }

  /** @param at when the oldest hit without an event happened; undefined if there is none, or another node settles it */
  #wakeLater(at?: number): void {
    if (this.#isStopped) return
    const { clock, shared } = this.#services
    const now = clock.now()
    const next = Math.min(
      at === undefined ? Infinity : at + this.#settings.settleMs,
      this.#recent.isEmpty ? Infinity : now + memoryMs,
      this.#settles && shared.isShared ? now + lookMs : Infinity,
    )
    this.#cancelTimer()
    if (next < Infinity) this.#cancelTimer = clock.at(next, () => this.#loop.wake())
  }
}

/**
 * Suspicion only grows, because not all earlier hits are judged again. A written event is corrected only if it was taken for a person's.
 */
const isNews = (verdict: HitJudgement, before: HitJudgement, isTold: boolean): boolean =>
  hundredths(verdict) > hundredths(before) && (!isTold || (verdict.bot && !before.bot))
