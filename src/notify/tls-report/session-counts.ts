import { createHash } from 'node:crypto'
import type { SessionSum } from '../../mail-out/delivery/session-tally.ts'
import { sessionKey } from '../../mail-out/delivery/tls-session.ts'
import type { BaseServices } from '../../platform/base-services.ts'
import type { CancelTimer } from '../../platform/clock.ts'
import { addSessions, type SessionsRow } from './tls-report-store.ts'
import { dayMs } from './tls-report.ts'

/** How often counts are written, ms: a crash loses no more. */
const writeMs = 10_000
/** Of different counts; a store that refuses them for long does not fill the memory. */
const maxCounts = 20_000
/** In one write. */
const maxWritten = 500
const maxReasonLength = 200

interface DaysSum extends SessionSum {
  /** UTC, days since 1970. */
  day: number
}

/** Counts the TLS sessions of this node for the reports on them, in memory, and adds them to those of all nodes every few seconds. */
export class SessionCounts {
  readonly #services: Pick<BaseServices, 'db' | 'clock' | 'log'>
  readonly #counts = new Map<string, DaysSum>()
  #cancelTimer: CancelTimer | null = null
  #writing: Promise<void> = Promise.resolve()

  constructor(services: Pick<BaseServices, 'db' | 'clock' | 'log'>) {
    this.#services = services
  }

  /** Adds what was counted just now. */
  add(sums: readonly SessionSum[]): void {
    const { clock } = this.#services
    const day = Math.floor(clock.now() / dayMs)
    for (const sum of sums) {
      const key = `${day} ${sessionKey(sum)}`
      const counted = this.#counts.get(key)
      if (counted) counted.sessions += sum.sessions
      else if (this.#counts.size < maxCounts) this.#counts.set(key, { ...sum, day })
    }
    this.#flushSoon()
  }

  #flushSoon(): void {
    const { clock, log } = this.#services
    this.#cancelTimer ??= clock.at(clock.now() + writeMs, () => {
      this.flush().catch((error: unknown) => {
        log.warn({ error }, 'TLS sessions could not be counted; this is tried again')
        this.#flushSoon()
      })
    })
  }

  /** Writes what is not yet written. */
  flush(): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    return (this.#writing = this.#writing.catch(() => {}).then(() => this.#write()))
  }

  async #write(): Promise<void> {
    while (this.#counts.size > 0) {
      const taken = [...this.#counts].slice(0, maxWritten).map(([key, sum]) => ({ key, row: rowOf(sum) }))
      // All nodes in one order: otherwise each of two could hold a row that the other waits for.
      const rows = taken.map(({ row }) => row).toSorted((a, b) => (a.id < b.id ? -1 : 1))
      await this.#services.db.write(rows.map(addSessions), { mayBatch: true })
      for (const { key, row } of taken) this.#forget(key, row.sessions)
    }
  }

  /** Some may have been added meanwhile. */
  #forget(key: string, written: number): void {
    const counted = this.#counts.get(key)
    if (!counted) return
    counted.sessions -= written
    if (counted.sessions === 0) this.#counts.delete(key)
  }
}

function rowOf({ day, destination, policy, mxHost, address, sourceAddress, failure, sessions }: DaysSum): SessionsRow {
  const detail = failure ? { failure: failure.type, mx_host: mxHost, address, source_address: sourceAddress } : noDetail
  const key = { day, domain: destination, policy: JSON.stringify(policy), ...detail }
  const id = createHash('sha256').update(JSON.stringify(key)).digest('base64url')
  return { id, ...key, reason: failure ? failure.reason.replace(/\p{C}+/gu, ' ').slice(0, maxReasonLength) : null, sessions }
}

const noDetail = { failure: null, mx_host: null, address: null, source_address: null }
