import { Agent, request } from 'node:http'

/** One request and its answer, with the times at which it was sent and answered, ms: the server saw it in between. */
export interface RateEntry {
  sent: number
  done: number
  status: number
  remaining: number
  resetSeconds: number
  /** How far the time of day was ahead of the steady clock, ms; null where this process was held up between the two readings. */
  clockAhead: number | null
  /** What is wrong with the rate limit fields by themselves; null: nothing. */
  fault: string | null
}

const windowMs = 60_000
/** Times are kept as whole milliseconds of the day over a restart, so they move with the clock of the machine, which may be corrected. */
const toleranceMs = 5

/** Sends one request at a time on each of its connections, and repeats what got no answer. */
export class RateClient {
  readonly entries: RateEntry[] = []
  readonly #agent: Agent
  readonly #port: number
  readonly #token: string
  readonly #plan: { name: string; limit: number }

  constructor(port: number, token: string, plan: { name: string; limit: number }, connections = 1) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
    this.#port = port
    this.#token = token
    this.#plan = plan
  }

  async send(method: string, path: string, body?: object): Promise<RateEntry> {
    for (;;) {
      const entry = await this.#trySending(method, path, body)
      if (!entry) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        continue
      }
      this.entries.push(entry)
      return entry
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  #trySending(method: string, path: string, body?: object): Promise<RateEntry | null> {
    const text = body === undefined ? '' : JSON.stringify(body)
    const headers = {
      authorization: `Bearer ${this.#token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    }
    return new Promise((resolve) => {
      const sent = performance.now()
      const asking = request({ host: '127.0.0.1', port: this.#port, method, path, headers, agent: this.#agent }, (answer) => {
        answer.resume()
        answer.on('error', () => resolve(null))
        answer.on('end', () => resolve(this.#entryOf(sent, answer.statusCode ?? 0, (name) => String(answer.headers[name]))))
      })
      asking.on('error', () => resolve(null))
      asking.end(text)
    })
  }

  #entryOf(sent: number, status: number, field: (name: string) => string): RateEntry {
    const { name, limit } = this.#plan
    const remaining = Number(field('ratelimit-remaining'))
    const resetSeconds = Number(field('ratelimit-reset'))
    const expected = {
      'ratelimit-limit': String(limit),
      'ratelimit-policy': `"${name}";q=${limit};w=60`,
      ratelimit: `"${name}";r=${remaining};t=${resetSeconds}`,
      'retry-after': status === 429 ? String(resetSeconds) : 'undefined',
    }
    const wrong = Object.entries(expected).filter(([key, value]) => field(key) !== value)
    const isInRange = resetSeconds >= 1 && resetSeconds <= 61 && remaining >= 0 && remaining < limit && (status !== 429 || remaining === 0)
    const fault = wrong.length > 0 || !isInRange ? JSON.stringify([status, remaining, resetSeconds, wrong]) : null
    return { sent, done: performance.now(), status, remaining, resetSeconds, clockAhead: clockAhead(), fault }
  }
}

function clockAhead(): number | null {
  const before = performance.now()
  const ahead = Date.now() - before
  return performance.now() - before < 1 ? ahead : null
}

/** How far the clock of the machine was moved meanwhile, ms. */
export function clockMoved(entries: RateEntry[]): number {
  const known = entries.flatMap((entry) => entry.clockAhead ?? [])
  return Math.max(...known) - Math.min(...known)
}

/** The most requests that were beyond doubt taken within one minute. */
export function maxInOneMinute(entries: RateEntry[]): number {
  const accepted = entries.filter(({ status }) => status !== 429)
  return Math.max(0, ...accepted.map(({ sent }) => accepted.filter((other) => other.sent >= sent && other.done <= sent + windowMs).length))
}

/** An answer whose `remaining` cannot be right, and the bounds of what the server may have counted. Times are ms since the first request. */
export interface WrongCount {
  sent: number
  done: number
  status: number
  resetSeconds: number
  counted: number
  least: number
  most: number
}

/**
 * The answers whose `remaining` cannot be right, whatever the order in which the server saw what overlapped. What was
 * taken in the second before a crash, `forgotten`, may or may not be counted after it.
 */
export function wrongRemaining(entries: RateEntry[], limit: number, forgotten: (entry: RateEntry) => boolean): WrongCount[] {
  const accepted = entries.filter(({ status }) => status !== 429)
  const tolerance = toleranceMs + clockMoved(entries)
  const start = Math.min(...entries.map(({ sent }) => sent))
  return entries.flatMap((entry) => {
    const { sent, done, status, resetSeconds } = entry
    const own = status === 429 ? 0 : 1
    const others = accepted.filter((other) => other !== entry)
    const least = others.filter((other) => other.done < sent && other.sent > done - windowMs + tolerance && !forgotten(other)).length + own
    const most = others.filter((other) => other.sent < done && other.done > sent - windowMs - tolerance).length + own
    const counted = limit - entry.remaining
    if (counted >= least && counted <= most) return []
    return [{ sent: Math.round(sent - start), done: Math.round(done - start), status, resetSeconds, counted, least, most }]
  })
}
