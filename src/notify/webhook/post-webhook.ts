import { isIP, type LookupFunction } from 'node:net'
import type { Agent, buildConnector, Dispatcher } from 'undici'
import { reasonOf } from '../../platform/plain-reason.ts'
import type { Resolver } from '../../platform/resolver.ts'
import { addressRule, type AllowedAddresses } from './webhook-address.ts'
import { addressesOf } from './host-lookup.ts'

export interface PosterSettings {
  /** `never`: no setting can allow any, because strangers say where to post. */
  allowPrivateAddresses: AllowedAddresses | 'never'
  /** Per attempt, from the DNS look-up to the response headers; real time. */
  timeoutMs: number
  /** True if a server may have any certificate; default: false. */
  trustsAnyCertificate?: boolean
}

interface WebhookRequest {
  url: string
  headers: Record<string, string>
  body: Uint8Array
}

type RequestMethod =
  { method: 'POST'; headers: Record<string, string>; body: Uint8Array } | { method: 'GET'; headers: Record<string, string> }

/** The result of one attempt. Status 2xx is a success, whatever happens to the body. */
export interface PostResult {
  /** Null without a response. */
  statusCode: number | null
  /** The start of the response body. */
  response: string | null
  /** Why there is no response, worded for the owner of the webhook. */
  error: string | null
  durationMs: number
}

export const isSuccess = ({ statusCode }: PostResult): boolean => statusCode !== null && statusCode >= 200 && statusCode < 300

/** bytes of a response to read, so that the connection can be reused */
const readLimit = 64 * 1024
/** bytes of a response to store for display */
const keptLimit = 4 * 1024
/** ms to keep an idle connection. Shorter than servers' own limits, so that no POST meets a closing connection. */
const idleMs = 1_000

/**
 * Posts webhooks. Follows no redirects, uses no proxy from the environment, decodes no content encoding. Addresses are checked at
 * connection time, and the connection goes to the checked address.
 */
export class WebhookPoster {
  readonly #resolver: Resolver
  readonly #settings: PosterSettings
  readonly #inFlight = new Set<AbortController>()
  #agent: Promise<Agent> | null = null

  constructor(services: { resolver: Resolver }, settings: PosterSettings) {
    this.#resolver = services.resolver
    this.#settings = settings
  }

  /** One attempt. Never rejects. */
  post({ url, headers, body }: WebhookRequest): Promise<PostResult> {
    return this.#attempt(url, { method: 'POST', headers, body })
  }

  /** Fetches a page, to see whether it is there. Never rejects. */
  visit(url: string): Promise<PostResult> {
    return this.#attempt(url, { method: 'GET', headers: { 'user-agent': 'Sterna', accept: 'text/html, */*' } })
  }

  async #attempt(url: string, request: RequestMethod): Promise<PostResult> {
    const started = performance.now()
    const result = (fields: Partial<PostResult>): PostResult => ({
      statusCode: null,
      response: null,
      error: null,
      ...fields,
      durationMs: Math.round(performance.now() - started),
    })
    const { timeoutMs } = this.#settings
    const abort = new AbortController()
    const timeout = setTimeout(() => abort.abort(new Error(`No response within ${timeoutMs / 1000} seconds.`)), timeoutMs)
    this.#inFlight.add(abort)
    try {
      const response = await this.#request(url, { ...request, signal: abort.signal })
      return result({ statusCode: response.statusCode, response: await beginningOf(response.body) })
    } catch (error) {
      return result({ error: sentenceOf(reasonOf(abort.signal.aborted ? abort.signal.reason : error)) })
    } finally {
      clearTimeout(timeout)
      this.#inFlight.delete(abort)
    }
  }

  /** Aborts the attempts in hand, as failures. */
  breakOff(): void {
    for (const abort of this.#inFlight) abort.abort(new Error('This server was stopped.'))
  }

  async #request(url: string, options: RequestMethod & { signal: AbortSignal }) {
    const { origin, pathname, search } = new URL(url)
    const agent = await (this.#agent ??= openAgent(this.#resolver, this.#settings))
    return agent.request({ origin, path: pathname + search, ...options })
  }

  async close(): Promise<void> {
    const agent = await this.#agent
    await agent?.destroy()
  }
}

/** Loaded on demand: the library takes some megabytes that a server without webhooks does not need. */
async function openAgent(resolver: Resolver, settings: PosterSettings): Promise<Agent> {
  const undici = await import('undici')
  return new undici.Agent({
    connect: guardedConnector(undici.buildConnector, resolver, settings),
    headersTimeout: 0, // the signal of each request bounds all of it
    bodyTimeout: 0,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
  })
}

/** Reads the start of the body. A body that breaks off or never ends is no failure. */
async function beginningOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const kept: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (size < keptLimit) kept.push(chunk.subarray(0, keptLimit - size))
      size += chunk.length
      if (size > readLimit) break // leaving the loop closes the connection
    }
  } catch {
    body.destroy()
  }
  // Some databases cannot store NUL in text.
  return Buffer.concat(kept).toString('utf8').replaceAll('\0', '\u{fffd}')
}

/** As a sentence. */
function sentenceOf(reason: string): string {
  const sentence = reason.charAt(0).toUpperCase() + reason.slice(1)
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}

function guardedConnector(
  newConnector: typeof buildConnector,
  resolver: Resolver,
  { allowPrivateAddresses, timeoutMs, trustsAnyCertificate = false }: PosterSettings,
): buildConnector.connector {
  const isNever = allowPrivateAddresses === 'never'
  const isAllowed = addressRule(isNever ? false : allowPrivateAddresses)
  const advice = isNever ? '' : '; the setting webhooks.allow_private_addresses can allow others'
  const refusal = (what: string): Error => new Error(`${what} is not a public address${advice}.`)

  const lookup: LookupFunction = (hostname, { all }, callback) => {
    addressesOf(hostname, resolver).then(
      (found) => {
        const allowed = found.filter(({ address }) => isAllowed(address))
        const [first] = allowed
        if (!first)
          return callback(found[0] ? refusal(`${hostname} (${found[0].address})`) : new Error(`The name ${hostname} has no address.`), '')
        if (all) return callback(null, allowed)
        callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, ''),
    )
  }
  // undici's types omit what it passes to net.connect and tls.connect.
  const options = {
    lookup,
    timeout: timeoutMs,
    autoSelectFamily: true,
    allowH2: false,
    rejectUnauthorized: !trustsAnyCertificate,
  } as buildConnector.BuildOptions
  const connect = newConnector(options)
  return (target, callback) => {
    // net.connect does not look up literal addresses, so `lookup` never sees them.
    const literal = target.hostname.replace(/^\[(.*)\]$/, '$1')
    if (isIP(literal) !== 0 && !isAllowed(literal)) return callback(refusal(literal), null)
    connect(target, callback)
  }
}
