import { isIP } from 'node:net'
import { lastUsed } from '../../platform/last-used.ts'
import type { MxRecord } from '../../platform/resolver.ts'
import type { Attempt, DeliveryJob, HostBackoff } from './attempt.ts'
import { CarefulStart } from './careful-start.ts'
import type { Waiter } from './connection-turns.ts'
import { destinationGroup, isOfGroup } from './destination-group.ts'
import { backoffFor } from './host-health.ts'
import { longestStopMs, refusalSign, type RefusalSign } from './refusal-sign.ts'
import type { RouteHost } from './route.ts'
import { stopKey } from './stop-key.ts'

/** Nothing is sent from one of our addresses to a group of destinations, because their hosts refuse that. */
export interface ProviderStop {
  /** See `stopKey`. */
  key: string
  /** When one message tries again, epoch ms; null: mail flows again. */
  until: number | null
  /** How often that message was refused. */
  step: number
  /** The reply, without addresses in it. */
  reason: string
}

type Job = Pick<DeliveryJob, 'messageId' | 'destination' | 'isProbe' | 'choices' | 'at'>

interface StopServices {
  /** Called when a stop begins, is prolonged, and ends. */
  tell(stop: ProviderStop): void
  /** 0 … 1 */
  random(): number
  /** See `ownFamilies`. */
  families?: number[]
  /** See `CarefulStart`. */
  waitMs?: number | undefined
}

interface RefusalsInRow {
  /** Epoch ms. */
  begunAt: number
  /** Refused: by several recipients of one message no more is known than by one. */
  messages: Set<string>
  destinations: Set<string>
}

const minuteMs = 60_000
/** Ours; each further one is twice as long. */
const firstStopMs = 10 * minuteMs
/** How much a stop is lengthened at random. */
const jitter = 0.1
/** So many messages refused in a row say that it is not about one of them. */
const enoughMessages = 3
/** In a row are those within this time, ms. */
const rowMs = 60 * minuteMs
/** So many domains refused say that it is not about one of them. */
const enoughDestinations = 2
/** If the message that tries again gets no answer, another does, ms. */
const againMs = minuteMs
/** A stop that nothing was sent since then to end says nothing more, ms. */
export const stopKeptMs = 24 * 60 * minuteMs
const maxRemembered = 10_000
/** How many stops are known at a time. */
export const maxStops = 10_000
const maxReasonLength = 500

/** What the hosts of a group say is about our address or our rate: whoever asks them meanwhile is refused for longer. */
export class ProviderStops {
  readonly #tell: (stop: ProviderStop) => void
  readonly #random: () => number
  readonly #families: number[]
  readonly careful: CarefulStart
  readonly #stops = lastUsed<ProviderStop & { until: number }>(maxStops)
  /** Refusals without an acceptance in between. */
  readonly #inRow = lastUsed<RefusalsInRow>(maxRemembered)
  /** Jobs that try again where the queue does not say which does. */
  readonly #probes = new WeakSet<Job>()

  constructor({ tell, random, families = [4, 6], waitMs }: StopServices) {
    this.#tell = tell
    this.#families = families
    this.#random = random
    this.careful = new CarefulStart(waitMs)
  }

  /** True if no group refuses anything. */
  get isQuiet(): boolean {
    return this.#stops.size === 0 && this.#inRow.size === 0 && this.careful.isOver
  }

  /** What another thread, an earlier process or another node has found. */
  learn({ key, until, step, reason }: ProviderStop): void {
    this.#inRow.delete(key)
    if (until !== null) this.#stops.set(key, { key, until, step, reason })
    else if (this.#stops.delete(key)) this.careful.begin(key)
  }

  /** Which of our addresses nothing may be sent from; undefined: all may be used. One whose stop is over may: a job has to try it. */
  restingSources({ destination, at }: Job, mx: readonly MxRecord[]): ((source: string) => boolean) | undefined {
    if (this.#stops.size === 0) return undefined
    const group = destinationGroup(destination, mx)
    return (source) => (this.#stopOf(stopKey(group, source, source), at)?.until ?? -Infinity) > at
  }

  /** The hosts that may be asked; or the stop that ends first, if there are none. */
  allowed(hosts: RouteHost[], job: Job, mx: readonly MxRecord[]): RouteHost[] | HostBackoff {
    if (this.#stops.size === 0) return hosts
    const group = destinationGroup(job.destination, mx)
    const stopAt = (host: RouteHost) => this.#stopOf(keyOf(group, host), job.at)
    const first = firstToEnd(hosts.flatMap((host) => stopAt(host) ?? []))
    if (!first) return hosts
    const open = hosts.filter((host) => this.#isOpen(host, group, job.at))
    const backoff = backoffOf(first, job.at)
    if (backoff.forMs > 0 && open.length > 0) return open
    // The queue has one job try again where it knows that all mail waits.
    if (open.length === 0 && backoffFor(job, backoff)) return backoff
    if (backoff.forMs > 0) return hosts
    this.#stops.set(first.key, { ...first, until: job.at + againMs })
    this.#probes.add(job)
    return hosts.filter((host) => stopAt(host)?.key === first.key)
  }

  /** Whether mail goes on to some of the hosts while others refuse it. */
  areSomeOpen(hosts: RouteHost[], { destination, at }: Job, mx: readonly MxRecord[]): boolean {
    const group = destinationGroup(destination, mx)
    return hosts.some((host) => this.#isOpen(host, group, at))
  }

  /** Waits for the job's turn, where mail flows again after a stop: see `CarefulStart.enter`. */
  enter(hosts: RouteHost[], job: Pick<Job, 'destination'> & Waiter, mx: readonly MxRecord[]): ReturnType<CarefulStart['enter']> {
    if (this.careful.isOver) return null
    const [first] = hosts
    return first ? this.careful.enter(keyOf(destinationGroup(job.destination, mx), first), job) : null
  }

  /** What follows from an attempt: a stop, if its destination has to wait. */
  note(attempt: Attempt, job: Job, mx: readonly MxRecord[]): HostBackoff | undefined {
    const { outcome, mxHost, address, sourceAddress, durationMs } = attempt
    if (mxHost === null) return undefined
    const sign = refusalSign(outcome, mxHost)
    if (sign === null && this.isQuiet) return undefined
    const isProbe = job.isProbe || this.#probes.has(job)
    const group = destinationGroup(job.destination, mx)
    const key = stopKey(group, sourceAddress, address ?? '')
    const now = job.at + durationMs
    const stop = this.#stopOf(key, now)
    // What was under way when it began says nothing, accepted or not.
    if (stop && !isProbe) return backoffOf(stop, now)
    // Whoever names hosts of a provider among others must not stop mail to it, or end a stop.
    const isAnswer = isOfGroup(mxHost, group)
    if (sign && isAnswer) {
      const reason = outcome.type === 'delivered' ? '' : outcome.reason
      return this.#noteRefusal(key, sign, { stop, reason, job, now })
    }
    if (stop && (!isAnswer || outcome.reply === null || outcome.reply.code === 421))
      return backoffOf({ ...stop, until: now + againMs }, now)
    if (!isAnswer) return undefined
    if (stop) this.#change({ ...stop, until: null })
    else if (outcome.type === 'delivered') {
      this.#inRow.delete(key)
      this.careful.accepted(key)
    }
    return undefined
  }

  #isOpen(host: RouteHost, group: string, at: number): boolean {
    return this.#families.includes(isIP(host.address)) && this.#stopOf(keyOf(group, host), at) === undefined
  }

  #noteRefusal(
    key: string,
    { stopMs, isOfHost }: RefusalSign,
    { stop, reason, job, now }: { stop: ProviderStop | undefined; reason: string; job: Job; now: number },
  ): HostBackoff | undefined {
    const known = this.#inRow.get(key)
    const row =
      known && now - known.begunAt < rowMs ? known : { begunAt: now, messages: new Set<string>(), destinations: new Set<string>() }
    if (row.messages.size < enoughMessages) row.messages.add(job.messageId)
    if (row.destinations.size < enoughDestinations) row.destinations.add(job.destination)
    const isEnough = (stopMs !== null || row.messages.size >= enoughMessages) && (isOfHost || row.destinations.size >= enoughDestinations)
    if (!stop && !isEnough) {
      this.#inRow.set(key, row)
      return undefined
    }
    const step = stop ? stop.step + 1 : 0
    const forMs = (stopMs ?? Math.min(firstStopMs * 2 ** step, longestStopMs)) * (1 + jitter * this.#random())
    const begun = { key, until: Math.round(now + forMs), step, reason: withoutAddresses(reason) }
    this.#change(begun)
    return backoffOf(begun, now)
  }

  #change(stop: ProviderStop): void {
    this.learn(stop)
    this.#tell(stop)
  }

  /** A day after it nobody knows any more; nor does a clock that was set back make it last longer. */
  #stopOf(key: string, at: number): (ProviderStop & { until: number }) | undefined {
    const stop = this.#stops.get(key)
    if (!stop || Math.abs(stop.until - at) <= stopKeptMs * (1 + jitter)) return stop
    this.#change({ ...stop, until: null })
    return undefined
  }
}

const keyOf = (group: string, { source, address }: RouteHost): string => stopKey(group, source?.address ?? null, address)

const firstToEnd = <Stop extends { until: number }>(stops: Stop[]): Stop | undefined =>
  stops.reduce<Stop | undefined>((first, stop) => (first && first.until <= stop.until ? first : stop), undefined)

const backoffOf = ({ key, until, reason }: { key: string; until: number; reason: string }, at: number): HostBackoff => ({
  key,
  forMs: Math.max(0, until - at),
  reason,
})

/** Others read it than those whose mail was refused. */
const withoutAddresses = (reason: string): string => reason.slice(0, maxReasonLength).replaceAll(/[^\s<>"]+@[^\s<>"]+/g, '…')
