import { registeredDomain } from '../../senders/sending-domain/sending-domain-name.ts'
import type { Fetched } from './fetch-sts-policy.ts'

/** Under way at a time: in all, and of one registered domain, whose owner may make any number of subdomains. */
const maxAtOnce = 50
const maxPerOwner = 5
/** How long a fetch may take, the wait for a place included (RFC 8461 3.3); and how long it keeps its place while others wait, ms. */
const longestMs = 60_000
const shareMs = 5_000

/** One fetch, which waits for a place or has one. */
interface Asked {
  host: string
  owner: string
  /** By performance.now(); null: it waits. */
  startedAt: number | null
  ending: AbortController
  start: () => void
}

/**
 * The places for fetches of policies. Whoever has a zone may publish a policy at a server that never answers, so a fetch that has had five seconds
 * gives its place to one that waits.
 */
export class FetchPlaces {
  readonly #fetch: (domain: string, signal: AbortSignal) => Promise<Fetched>
  readonly #shareMs: number
  /** In the order in which they came. */
  readonly #waiting = new Set<Asked>()
  /** In the order in which they started. */
  readonly #running = new Set<Asked>()
  #timer: NodeJS.Timeout | undefined

  /** @param fetch never rejects; ends when `signal` is aborted, with its reason */
  constructor(fetch: (domain: string, signal: AbortSignal) => Promise<Fetched>, { share = shareMs } = {}) {
    this.#fetch = fetch
    this.#shareMs = share
  }

  /** Gets the policy of a domain as soon as there is a place, within a minute. Never rejects. */
  async fetch(domain: string): Promise<Fetched> {
    const { promise: started, resolve: start } = Promise.withResolvers<void>()
    const owner = registeredDomain(domain)
    const asked: Asked = { host: `mta-sts.${domain}`, owner, startedAt: null, ending: new AbortController(), start }
    const timer = setTimeout(() => end(asked, longestMs), longestMs)
    this.#waiting.add(asked)
    this.#letIn()
    await started
    try {
      return asked.startedAt === null ? noPlace : await this.#fetch(domain, asked.ending.signal)
    } finally {
      clearTimeout(timer)
      this.#waiting.delete(asked)
      this.#running.delete(asked)
      this.#letIn()
    }
  }

  #letIn(): void {
    clearTimeout(this.#timer)
    const byOwner = Map.groupBy(this.#running, ({ owner }) => owner)
    let inTheWay: Asked | undefined
    for (const asked of this.#waiting) {
      const own = byOwner.get(asked.owner) ?? []
      const [oldest] = this.#running.size >= maxAtOnce ? this.#running : own.length >= maxPerOwner ? own : []
      if (oldest) {
        if (!inTheWay || startOf(oldest) < startOf(inTheWay)) inTheWay = oldest
        continue
      }
      byOwner.set(asked.owner, [...own, asked])
      this.#waiting.delete(asked)
      this.#running.add(asked)
      asked.startedAt = performance.now()
      asked.start()
    }
    if (inTheWay) this.#endAfterShare(inTheWay)
  }

  /** Then one that waits is let in. */
  #endAfterShare(asked: Asked): void {
    const leftMs = startOf(asked) + this.#shareMs - performance.now()
    this.#timer = setTimeout(() => end(asked, this.#shareMs), Math.max(0, leftMs))
  }
}

const startOf = ({ startedAt }: Asked): number => startedAt ?? Infinity

/** It ends by itself; one that waits is told that it has no place. */
function end({ host, ending, start }: Asked, ms: number): void {
  ending.abort(new Error(`${host} did not answer within ${ms / 1000} seconds`))
  start()
}

const noPlace: Fetched = {
  fault: { type: 'sts-policy-fetch-error', reason: `too many other policies were being fetched for ${longestMs / 1000} seconds` },
}
