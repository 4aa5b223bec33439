import { lastUsed } from '../../platform/last-used.ts'
import { maxStops } from '../delivery/provider-stops.ts'
import { Backoffs, type HostInBackoff } from './backoffs.ts'

/** How many destinations are remembered with their group. */
const maxRemembered = 20_000

/**
 * What keeps mail in the queue that could not be tried: hosts that are down, and groups of destinations whose hosts refuse what comes from
 * this server. A destination of such a group is in backoff from the first mail on that waits for it, with all others of the group.
 */
export class Gate extends Backoffs {
  /** The group of each destination, as far as it is known: see `destinationGroup`. */
  readonly #groups = lastUsed<string>(maxRemembered)
  readonly #stops = lastUsed<HostInBackoff>(maxStops)
  #heedsStops = true

  noteGroup(name: string, group: string): void {
    this.#groups.set(name, group)
  }

  /** True if mail may wait that is not claimed from. */
  get holdsBack(): boolean {
    return (this.#heedsStops && this.#stops.size > 0) || !this.isEmpty
  }

  isIn(name: string, group: string): boolean {
    return this.#groups.get(name) === group
  }

  /**
   * Whether a group that is stopped is held back. Where mail may go another way it is not: who finds its way finds the stop. Gives the
   * destinations that wake: all, because their way may be another one now.
   */
  heedStops(areHeeded: boolean): Iterable<string> {
    this.#heedsStops = areHeeded
    return this.wakeEverything()
  }

  /** Nothing is claimed for the group until its hosts may be tried again. False if that is not heeded. */
  stop(group: string, host: HostInBackoff): boolean {
    this.#stops.set(group, host)
    return this.#heedsStops
  }

  /** The hosts of the group take mail again. Gives the destinations that wake. */
  endStop(group: string): Iterable<string> {
    const stop = this.#stops.get(group)
    this.#stops.delete(group)
    return stop ? this.wakeAll(stop.key) : []
  }

  override has(name: string): boolean {
    return super.has(name) || this.#stopOf(name) !== undefined
  }

  override noteWaiting(name: string, dueAt: number): void {
    const stop = super.has(name) ? undefined : this.#stopOf(name)
    if (stop) this.join(name, stop)
    super.noteWaiting(name, dueAt)
  }

  /** While its group is stopped, it does not wake: what was under way when that began says nothing. */
  override wake(name: string): Iterable<string> {
    const stop = this.#stopOf(name)
    if (stop && this.isWaitingFor(name, stop.key)) return []
    return super.wake(name)
  }

  #stopOf(name: string): HostInBackoff | undefined {
    return !this.#heedsStops || this.#stops.size === 0 ? undefined : this.#stops.get(this.#groups.get(name) ?? '')
  }
}
