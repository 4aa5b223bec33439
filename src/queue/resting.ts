import { DueHeap } from './due-heap.ts'

/** Destinations that cannot be reached, because a host of theirs is down: they rest together and wake together. */
interface RestingGroup {
  /** Epoch, ms, at which the next probe may be made. */
  until: number
  /** What the host said last, or what failed. */
  reason: string
  names: Set<string>
  /** Where the heap has it; infinite where no probe is to come, or one is under way. */
  dueAt: number
}

/** A host that is not to be tried for a while. */
export interface RestingHost {
  /** Names the host, or what else is down, for all destinations alike. */
  key: string
  /** Epoch, ms. */
  until: number
  reason: string
}

/** When to look again at a host whose probe brought no result, or that still has an attempt under way, ms. */
const againMs = 5_000

/** Which destinations rest, and which of them is the next to send one message as a probe. */
export class Resting {
  readonly #groups = new Map<string, RestingGroup>()
  readonly #keys = new Map<string, string>()
  readonly #heap = new DueHeap()

  has(name: string): boolean {
    return this.#keys.size > 0 && this.#keys.has(name)
  }

  /** Every destination that rests, and why. */
  *all(): Iterable<{ name: string; reason: string }> {
    for (const { names, reason } of this.#groups.values()) for (const name of names) yield { name, reason }
  }

  /** Whether any does. */
  get isEmpty(): boolean {
    return this.#keys.size === 0
  }

  /** When the first probe may be made, epoch ms; infinite where none is to come. */
  get firstProbeAt(): number {
    for (let first = this.#heap.first; first; first = this.#heap.first) {
      if (this.#groups.get(first.key)?.dueAt === first.dueAt) return first.dueAt
      this.#heap.pop()
    }
    return Infinity
  }

  /** True where the host did not rest before. */
  rest(name: string, { key, until, reason }: RestingHost): boolean {
    if (this.#keys.get(name) !== key) this.forget(name)
    this.#keys.set(name, key)
    let group = this.#groups.get(key)
    const isNew = !group
    if (!group) {
      group = { until, reason, names: new Set(), dueAt: Infinity }
      this.#groups.set(key, group)
    }
    group.names.add(name)
    group.until = until
    group.reason = reason
    this.#wait(key, group, until)
    return isNew
  }

  /** Mail for a destination that rests has come, or is due now: its host is to be probed. */
  noteWaiting(name: string, dueAt: number): void {
    const key = this.#keys.get(name)
    const group = key === undefined ? undefined : this.#groups.get(key)
    if (key === undefined || !group) return
    const at = Math.max(dueAt, group.until)
    if (at < group.dueAt) this.#wait(key, group, at)
  }

  /** The host that the destination rests for is to be probed now. */
  probeNow(name: string, now: number): void {
    const key = this.#keys.get(name)
    const group = key === undefined ? undefined : this.#groups.get(key)
    if (key === undefined || !group) return
    group.until = now
    this.#wait(key, group, now)
  }

  /** The destination has answered: all that rested with it are awake. */
  wake(name: string): Iterable<string> {
    const key = this.#keys.get(name)
    const group = key === undefined ? undefined : this.#groups.get(key)
    if (key === undefined || !group) return []
    this.#groups.delete(key)
    for (const each of group.names) this.#keys.delete(each)
    return group.names
  }

  /** Nothing waits for it any more. */
  forget(name: string): void {
    const key = this.#keys.get(name)
    if (key === undefined) return
    this.#keys.delete(name)
    const group = this.#groups.get(key)
    group?.names.delete(name)
    if (group?.names.size === 0) this.#groups.delete(key)
  }

  /**
   * A destination to probe a host with, of those that have mail due; undefined where no host is to be probed now. The host is
   * looked at again where nothing was heard of the probe.
   * @param about.dueAt when the first mail of a destination is due, epoch ms
   * @param about.isInHand whether an attempt for it is under way, which is as good as a probe
   */
  nextProbe(now: number, about: { dueAt(name: string): number; isInHand(name: string): boolean }): string | undefined {
    while (this.firstProbeAt <= now) {
      const { key } = this.#heap.pop() as { key: string }
      const group = this.#groups.get(key) as RestingGroup
      if ([...group.names].some(about.isInHand)) {
        group.until = now + againMs
        this.#wait(key, group, group.until)
        continue
      }
      let first = Infinity
      for (const name of group.names) {
        first = Math.min(first, about.dueAt(name))
        if (first > now) continue
        group.until = now + againMs
        this.#wait(key, group, group.until)
        return name
      }
      group.dueAt = Infinity
      if (first < Infinity) this.#wait(key, group, first)
    }
    return undefined
  }

  #wait(key: string, group: RestingGroup, at: number): void {
    group.dueAt = at
    this.#heap.push(key, at)
  }
}
