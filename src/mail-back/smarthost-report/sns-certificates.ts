import { X509Certificate } from 'node:crypto'
import type { Clock } from '../../platform/clock.ts'
import { lastUsed } from '../../platform/last-used.ts'
import { minuteMs, RateLimiter } from '../../platform/rate-limiter.ts'

/** Fetches a URL; rejects if nothing answers. */
export type FetchFromSns = (url: string) => Promise<{ status: number; text: string }>

/** Certificates kept; SNS has one for each region, and replaces it about once a year. */
const maxKept = 8
/** Of one client network. Anybody can name certificates that do not exist; those who do so must not make others wait. */
const fetchesPerMinute = 10

interface KeptCertificate {
  certificate: X509Certificate
  /** Epoch, ms. */
  until: number
}

/** The certificates that SNS signs with, by URL. */
export class SnsCertificates {
  readonly #clock: Clock
  readonly #fetch: FetchFromSns
  /** Those that have proved a message. What others claim displaces none of them. */
  readonly #proven = lastUsed<KeptCertificate>(maxKept)
  readonly #found = lastUsed<KeptCertificate>(maxKept)
  readonly #fetching = new Map<string, Promise<KeptCertificate | null>>()
  /** By client network. */
  readonly #rate: RateLimiter

  constructor(clock: Clock, fetch: FetchFromSns) {
    this.#clock = clock
    this.#fetch = fetch
    this.#rate = new RateLimiter(clock, { limit: fetchesPerMinute, windowMs: minuteMs })
  }

  /**
   * True if the certificate at the URL, which must be one of SNS, has signed the message.
   * @param network of the client that names the URL
   * @throws Error if the certificate cannot be had now
   */
  async prove(url: string, network: string, isSignedWith: (certificate: X509Certificate) => boolean): Promise<boolean> {
    const known = [this.#proven.get(url), this.#found.get(url)].find((each) => each && each.until > this.#clock.now())
    const kept = known ?? (await this.#fetched(url, network))
    if (kept === null || !isSignedWith(kept.certificate)) return false
    this.#proven.set(url, kept)
    return true
  }

  async #fetched(url: string, network: string): Promise<KeptCertificate | null> {
    const underWay = this.#fetching.get(url)
    if (underWay) return underWay
    if (this.#rate.take(network) > 0) throw new Error('too many certificates of SNS were asked for within a minute')
    const fetching = this.#load(url).finally(() => this.#fetching.delete(url))
    this.#fetching.set(url, fetching)
    return fetching
  }

  async #load(url: string): Promise<KeptCertificate | null> {
    const { status, text } = await this.#fetch(url)
    if (status >= 500) throw new Error(`SNS answered with status ${status}`)
    const certificate = status === 200 ? certificateIn(text) : null
    const until = certificate === null ? 0 : certificate.validToDate.getTime()
    if (certificate === null || until <= this.#clock.now()) return null
    const found = { certificate, until }
    this.#found.set(url, found)
    return found
  }
}

function certificateIn(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem)
  } catch {
    return null
  }
}
