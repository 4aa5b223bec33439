import { X509Certificate } from 'node:crypto'
import type { Clock } from '../../platform/clock.ts'
import { lastUsed } from '../../platform/last-used.ts'
import { minuteMs, RateLimiter } from '../../platform/rate-limiter.ts'

/** What a URL gives; rejects if it gives nothing. */
export type FetchFromSns = (url: string) => Promise<{ status: number; text: string }>

/** Certificates kept; SNS has one for each region, and replaces it about once a year. */
const maxKept = 8
/** Anybody can make us look for certificates that are not there. */
const fetchesPerMinute = 10

interface KeptCertificate {
  certificate: X509Certificate
  /** Epoch, ms. */
  until: number
}

/** The certificates with whose keys SNS signs, by their URLs. */
export class SnsCertificates {
  readonly #clock: Clock
  readonly #fetch: FetchFromSns
  readonly #kept = lastUsed<KeptCertificate>(maxKept)
  readonly #fetching = new Map<string, Promise<X509Certificate | null>>()
  readonly #rate: RateLimiter

  constructor(clock: Clock, fetch: FetchFromSns) {
    this.#clock = clock
    this.#fetch = fetch
    this.#rate = new RateLimiter(clock, { limit: fetchesPerMinute, windowMs: minuteMs })
  }

  /**
   * Null if there is none at the URL, which must be one of SNS.
   * @throws Error if that cannot be told now
   */
  async at(url: string): Promise<X509Certificate | null> {
    const kept = this.#kept.get(url)
    if (kept && kept.until > this.#clock.now()) return kept.certificate
    const fetching = this.#fetching.get(url) ?? this.#load(url).finally(() => this.#fetching.delete(url))
    this.#fetching.set(url, fetching)
    return fetching
  }

  async #load(url: string): Promise<X509Certificate | null> {
    if (this.#rate.take('') > 0) throw new Error('too many certificates of SNS were looked for within a minute')
    const { status, text } = await this.#fetch(url)
    if (status >= 500) throw new Error(`SNS answered with status ${status}`)
    const certificate = status === 200 ? certificateIn(text) : null
    const until = certificate === null ? 0 : certificate.validToDate.getTime()
    if (certificate === null || until <= this.#clock.now()) return null
    this.#kept.set(url, { certificate, until })
    return certificate
  }
}

function certificateIn(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem)
  } catch {
    return null
  }
}
