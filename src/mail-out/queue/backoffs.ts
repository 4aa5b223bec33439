import { DueHeap } from '../../platform/due-heap.ts'

/** Destinations that cannot be reached because the same host is down: they go into backoff and wake together. */
interface BackoffGroup {
  key: string
  /** Epoch, ms, when the next probe may be made. */
  until: number
  /** The host's last reply, or what failed. */
  reason: string
  names: Set<string>
  /** Its time on the heap; infinite if no probe is planned, or one is in progress. */
  dueAt: number
}

/** A host that must not be tried for a while. */
export interface HostInBackoff {
  /** Names the host, or whatever else is down, the same way for all destinations. */
  key: string
  /** Epoch, ms. */
  until: number
  reason: string
}

export interface AboutDestinations {
  /** When the first mail of a destination is due, epoch ms; infinite if there is none. */
  dueAt(name: string): number
  /** Whether an attempt for it is in progress, which is as good as a probe. */
  isInFlight(name: string): boolean
}

/** When to check a host again whose probe gave no result, or that still has an attempt in progress, ms. */
const againMs = 5_000

/** Which destinations are in backoff, and which of them sends the next probe, a single message. */
export class Backoffs {
  readonly #groups = new Map<string, BackoffGroup>()
  readonly #keys = new Map<string, string>()
  readonly #heap = new DueHeap()

  has(name: string): boolean {
    return this.#keys.size > 0 && this.#keys.has(name)
  }

  get isEmpty(): boolean {
    return this.#keys.size === 0
  }

  /** Every destination in backoff, and why. */
  *all(): Iterable<{ name: string; reason: string }> {
    for (const { names, reason } of this.#groups.values()) for (const name of names) yield { name, reason }
  }

  /** When the first probe may be made, epoch ms; infinite if none is planned. */
  get firstProbeAt(): number {
    for (let first = this.#heap.peek(); first; first = this.#heap.peek()) {
      if (this.#groups.get(first.key)?.dueAt === first.dueAt) return first.dueAt
      this.#heap.pop()
    }
    return Infinity
  }

  /** True if the host was not in backoff before. */
  add(name: string, { key, until, reason }: HostInBackoff): boolean {
    if (this.#keys.get(name) !== key) this.forget(name)
    this.#keys.set(name, key)
    let group = this.#groups.get(key)
    const isNew = !group
    if (!group) {
      group = { key, until, reason, names: new Set(), dueAt: Infinity }
      this.#groups.set(key, group)
    }
    group.names.add(name)
    group.until = until
    group.reason = reason
    this.#wait(group, until)
    return isNew
  }

  /** It waits with the others that wait for this host, and as long as they do. */
  join(name: string, host: HostInBackoff): void {
    this.add(name, { ...host, until: Math.max(host.until, this.#groups.get(host.key)?.until ?? 0) })
  }

  /** Mail for a destination in backoff has arrived, or is due now: probe its host. */
  noteWaiting(name: string, dueAt: number): void {
    const group = this.#groupOf(name)
    if (!group) return
    const at = Math.max(dueAt, group.until)
    if (at < group.dueAt) this.#wait(group, at)
  }

  /** Probe now the host that the destination waits for. */
  probeNow(name: string, now: number): void {
    const group = this.#groupOf(name)
    if (!group) return
    group.until = now
    this.#wait(group, now)
  }

  /** The destination has answered: everything that waited with it wakes. */
  wake(name: string): Iterable<string> {
    return this.wakeAll(this.#keys.get(name) ?? '')
  }

  /** The host can be tried: everything that waited for it wakes. */
  wakeAll(key: string): Iterable<string> {
    const group = this.#groups.get(key)
    if (!group) return []
    this.#groups.delete(key)
    for (const name of group.names) this.#keys.delete(name)
    return group.names
  }

  /** Everything wakes. */
  wakeEverything(): Iterable<string> {
    const names = [...this.#keys.keys()]
    this.#groups.clear()
    this.#keys.clear()
    return names
  }

  isWaitingFor(name: string, key: string): boolean {
    return this.#keys.get(name) === key
  }

  /** Nothing waits for it any more. */
  forget(name: string): void {
    const group = this.#groupOf(name)
    if (!group) return
    this.#keys.delete(name)
    group.names.delete(name)
    if (group.names.size === 0) this.#groups.delete(group.key)
  }

  /**
   * A destination to probe a host with, among those with due mail; undefined if no host should be probed now. The host is checked again
   * if the probe gives no result.
   */
  nextProbe(now: number, about: AboutDestinations): string | undefined {
    while (this.firstProbeAt <= now) {
      const group = this.#groups.get((this.#heap.pop() as { key: string }).key) as BackoffGroup
      const first = firstDue(group.names, about)
      if (first === 'in flight' || first.dueAt <= now) {
        group.until = now + againMs
        this.#wait(group, group.until)
        if (first !== 'in flight') return first.name
      } else {
        group.dueAt = Infinity
        if (first.dueAt < Infinity) this.#wait(group, first.dueAt)
      }
    }
    return undefined
  }

  #groupOf(name: string): BackoffGroup | undefined {
    return this.#groups.get(this.#keys.get(name) ?? '')
  }

  #wait(group: BackoffGroup, at: number): void {
    group.dueAt = at
    this.#heap.push({ key: group.key, dueAt: at })
  }
}

/** Which of these destinations has mail due first; `in flight` if an attempt for any of them is in progress. */
function firstDue(names: Iterable<string>, about: AboutDestinations): { name: string; dueAt: number } | 'in flight' {
  let first = { name: '', dueAt: Infinity }
  for (const name of names) {
    if (about.isInFlight(name)) return 'in flight'
    const dueAt = about.dueAt(name)
    if (dueAt < first.dueAt) first = { name, dueAt }
  }
  return first
}
