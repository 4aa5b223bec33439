import { lastUsed } from '../../platform/last-used.ts'
import type { DeliveryJob, HostBackoff } from './attempt.ts'

/** What we know of a host, or of another part of the way to a destination. Times are performance.now(). */
interface Health {
  /** Consecutive connection failures. */
  failures: number
  answeredAt: number
  /** When it failed last, or was too slow to answer. */
  failedAt: number
  /** Since when it is in backoff; infinite if it is not. */
  downAt: number
  /** Probes that failed. */
  probes: number
  backoffUntil: number
  reason: string
}

const minFailures = 4
/** After this many failures in a row, a host counts as down even if it answers now and then. */
const certainFailures = 20
const lately = 60_000
const minBackoffMs = 5_000
const maxBackoffMs = 900_000
/** How much a backoff is lengthened at random. */
const jitter = 0.2
const maxRemembered = 20_000

const unknown: Readonly<Health> = {
  failures: 0,
  answeredAt: -Infinity,
  failedAt: -Infinity,
  downAt: Infinity,
  probes: 0,
  backoffUntil: 0,
  reason: '',
}

/**
 * Decides which hosts are down, from the results of connections to them. After four failures in a row, none of them within a minute of a
 * success, or after twenty, a host is in backoff for 5, 10, 20 … 900 s. After each one message finds out whether it is up again.
 */
export class HostHealth {
  readonly #random: () => number
  readonly #known = lastUsed<Health>(maxRemembered)

  /** @param random 0 … 1 */
  constructor(random: () => number) {
    this.#random = random
  }

  /** How much longer it is in backoff; zero if its probe is due. */
  backoffOf(key: string, now: number): HostBackoff | undefined {
    const health = this.#known.get(key)
    if (!health || health.downAt === Infinity) return undefined
    return { key, forMs: Math.max(0, Math.round(health.backoffUntil - now)), reason: health.reason }
  }

  /** The backoff that ends first, if all of them are in one. */
  backoffOfAll(keys: readonly string[], now: number): HostBackoff | undefined {
    let first: HostBackoff | undefined
    for (const key of keys) {
      const backoff = this.backoffOf(key, now)
      if (!backoff) return undefined
      if (!first || backoff.forMs < first.forMs) first = backoff
    }
    return first
  }

  /** True of a host that we have connected to, and that has not failed since. */
  hasAnswered(key: string): boolean {
    const health = this.#known.get(key)
    return health?.failures === 0 && health.answeredAt > -Infinity
  }

  /** When it failed last, unless it has answered since; then -Infinity. */
  failedAt(key: string): number {
    return this.#known.get(key)?.failedAt ?? -Infinity
  }

  /** Another address of the same host was faster by far. */
  noteSlow(key: string, now: number): void {
    this.#known.set(key, { ...(this.#known.get(key) ?? unknown), failedAt: now })
  }

  noteAnswered(key: string, now: number): void {
    this.#known.set(key, { ...unknown, answeredAt: now })
  }

  /** It is up, and nothing more needs to be remembered. */
  forget(key: string): void {
    this.#known.delete(key)
  }

  /** @param startedAt when the connection was begun: connections already under way when the host was found down do not count */
  noteFailed(key: string, reason: string, { startedAt, now }: { startedAt: number; now: number }): void {
    const health = this.#known.get(key) ?? { ...unknown }
    this.#known.set(key, health)
    health.failures++
    health.failedAt = now
    const isDown = health.downAt < Infinity
    if (isDown && startedAt < health.downAt) return
    const isEnough = health.failures >= (now - health.answeredAt > lately ? minFailures : certainFailures)
    if (!isDown && !isEnough) return
    if (isDown) health.probes++
    health.downAt = now
    health.reason = reason
    const backoffMs = Math.min(minBackoffMs * 2 ** health.probes, maxBackoffMs)
    health.backoffUntil = now + backoffMs * (1 + jitter * this.#random())
  }
}

/** The backoff that holds for a job: the queue sends probes only where all mail for a destination goes the same way. */
export const backoffFor = (
  { isProbe, choices }: Pick<DeliveryJob, 'isProbe' | 'choices'>,
  backoff: HostBackoff | undefined,
): HostBackoff | undefined => (isProbe || (choices?.isOfSome && backoff?.forMs === 0) ? undefined : backoff)
