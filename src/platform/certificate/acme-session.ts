import { createHash, createHmac, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto'
import { request } from 'node:https'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { promisify } from 'node:util'
import { AcmeProblem, problemOf, retryAfterOf } from './acme-problem.ts'
import { reasonOf } from '../plain-reason.ts'

export interface AcmeAuthority {
  /** URL of the directory. */
  directory: string
  /** Certificates (PEM) that may vouch for the directory in addition to the public ones; null: none. */
  ca: string | null
  userAgent: string
  signal: AbortSignal
}

/** Which account at the authority's own site ours belongs to (RFC 8555 7.3.4). */
export interface ExternalAccount {
  keyId: string
  /** base64url */
  macKey: string
}

export interface AcmeResponse {
  /** The parsed JSON. */
  body: Record<string, unknown>
  text: string
  /** Of the resource that was made. */
  location: string | null
  retryAfterMs: number | null
}

interface RawResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

/** ms for one request */
const timeoutMs = 30_000
/** bytes of a response; a chain has a few thousand */
const maxResponseLength = 1024 * 1024
/** Times that a nonce may be refused: it is only valid for a while, and the refusal brings a new one (RFC 8555 6.5). */
const maxBadNonces = 5

const signLater = promisify(sign)
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Signed requests to a certificate authority with one account key (RFC 8555 6). Everything that fails is an `AcmeProblem`. */
export class AcmeSession {
  readonly #authority: AcmeAuthority
  readonly #key: KeyObject
  readonly #jwk: Record<string, unknown>
  /** Whom to trust. Building it takes long, because all public authorities are read. */
  readonly #trust: SecureContext | undefined
  #directory: Record<string, unknown> | null = null
  #nonce: string | null = null
  /** The account's URL; null before it is known. */
  account: string | null = null

  /** @param key PEM */
  constructor(authority: AcmeAuthority, key: string) {
    this.#authority = authority
    this.#trust = authority.ca === null ? undefined : createSecureContext({ ca: [...rootCertificates, authority.ca] })
    this.#key = createPrivateKey(key)
    const { crv, kty, x, y } = createPublicKey(this.#key).export({ format: 'jwk' })
    // The order of the members counts for the thumbprint (RFC 7638 3).
    this.#jwk = { crv, kty, x, y }
  }

  /** What answers a challenge with this token (RFC 8555 8.1). */
  keyAuthorization(token: string): string {
    return `${token}.${createHash('sha256').update(JSON.stringify(this.#jwk)).digest('base64url')}`
  }

  /** The URL of a resource, as the directory names it. */
  async urlOf(resource: string): Promise<string> {
    this.#directory ??= await this.#readDirectory()
    const url = this.#directory[resource]
    if (typeof url === 'string') return url
    throw new AcmeProblem('unreachable', `${this.#authority.directory} is not an ACME directory: it does not name ${resource}`)
  }

  /** Where the authority's terms of service are; null if it has none. */
  async terms(): Promise<string | null> {
    this.#directory ??= await this.#readDirectory()
    const meta = this.#directory['meta'] as Record<string, unknown> | undefined
    return typeof meta?.['termsOfService'] === 'string' ? meta['termsOfService'] : null
  }

  /** Proves to the authority that the account key belongs to an account there. */
  async binding({ keyId, macKey }: ExternalAccount): Promise<Record<string, string>> {
    const header = encode({ alg: 'HS256', kid: keyId, url: await this.urlOf('newAccount') })
    const payload = encode(this.#jwk)
    const signature = createHmac('sha256', Buffer.from(macKey, 'base64url')).update(`${header}.${payload}`).digest('base64url')
    return { protected: header, payload, signature }
  }

  /** Posts a JSON object, or asks for what is at the URL if `payload` is null (POST-as-GET). */
  async post(url: string, payload: object | null): Promise<AcmeResponse> {
    for (let refused = 0; ; refused++) {
      const response = await this.#send(url, 'POST', await this.#sign(url, payload))
      const parsed = parse(response)
      if (response.status < 400) return parsed
      const problem = isProblem(response)
        ? problemOf(parsed.body, parsed.retryAfterMs)
        : new AcmeProblem('unreachable', `${url} answered with status ${response.status}`, { retryAfterMs: parsed.retryAfterMs })
      if (problem.type !== 'badNonce' || refused >= maxBadNonces) throw problem
    }
  }

  async #sign(url: string, payload: object | null): Promise<string> {
    const nonce = this.#nonce ?? (await this.#newNonce())
    this.#nonce = null
    const header = encode({ alg: 'ES256', nonce, url, ...(this.account === null ? { jwk: this.#jwk } : { kid: this.account }) })
    const body = payload === null ? '' : encode(payload)
    const signature = await signLater('sha256', Buffer.from(`${header}.${body}`), { key: this.#key, dsaEncoding: 'ieee-p1363' })
    return JSON.stringify({ protected: header, payload: body, signature: signature.toString('base64url') })
  }

  async #newNonce(): Promise<string> {
    await this.#send(await this.urlOf('newNonce'), 'HEAD')
    if (this.#nonce !== null) return this.#nonce
    throw new AcmeProblem('unreachable', `${this.#authority.directory} gave no nonce`)
  }

  async #readDirectory(): Promise<Record<string, unknown>> {
    const { directory } = this.#authority
    const response = await this.#send(directory, 'GET')
    if (response.status === 200) return parse(response).body
    const retryAfterMs = parse(response).retryAfterMs
    throw new AcmeProblem('unreachable', `${directory} answered with status ${response.status}`, { retryAfterMs })
  }

  async #send(url: string, method: string, body?: string): Promise<RawResponse> {
    const { userAgent, signal } = this.#authority
    try {
      const response = await send(url, {
        method,
        headers: { 'User-Agent': userAgent, ...(body === undefined ? {} : { 'Content-Type': 'application/jose+json' }) },
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
        body,
        trust: this.#trust,
      })
      const nonce = response.headers['replay-nonce']
      if (typeof nonce === 'string') this.#nonce = nonce
      return response
    } catch (cause) {
      throw new AcmeProblem('unreachable', `${new URL(url).host} cannot be reached: ${reasonOf(cause)}`, { cause })
    }
  }
}

interface Sent {
  method: string
  headers: Record<string, string>
  signal: AbortSignal
  body: string | undefined
  trust: SecureContext | undefined
}

function send(url: string, { body, trust, ...options }: Sent): Promise<RawResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<RawResponse>()
  const req = request(url, { ...options, ...(trust && { secureContext: trust }), agent: false }, (res) => {
    const parts: Buffer[] = []
    let length = 0
    res.on('data', (part: Buffer) => {
      length += part.length
      if (length > maxResponseLength) res.destroy(new Error('the response is too long'))
      else parts.push(part)
    })
    res.on('error', reject)
    res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text: Buffer.concat(parts).toString() }))
  })
  req.on('error', reject)
  req.end(body)
  return promise
}

const isProblem = ({ headers }: RawResponse): boolean => String(headers['content-type']).startsWith('application/problem+json')

function parse({ headers, text }: RawResponse): AcmeResponse {
  const { location } = headers
  const retryAfter = headers['retry-after']
  return {
    body: String(headers['content-type']).includes('json') ? objectIn(text) : {},
    text,
    location: typeof location === 'string' ? location : null,
    retryAfterMs: retryAfterOf(typeof retryAfter === 'string' ? retryAfter : undefined, Date.now()),
  }
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
