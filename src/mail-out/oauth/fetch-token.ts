import type { GuardedLookUps } from '../../platform/connection/guarded-lookup.ts'
import { guardedRequest, within } from '../../platform/connection/guarded-request.ts'
import { reasonOf } from '../../platform/plain-reason.ts'
import type { SmarthostGrant } from './smarthost-grant.ts'

/** What a token endpoint gives (RFC 6749 5.1). */
export interface GivenTokens {
  accessToken: string
  expiresInMs: number
  /** The one for the next fetch; null: the same as before, if there is one. */
  refreshToken: string | null
}

export interface TokenFault {
  /** True if only a human can change it; false if it may be over by itself. */
  isRefusal: boolean
  /** As the end of a sentence, in the provider's words, without secrets. */
  reason: string
}

export type FetchedToken = GivenTokens | { fault: TokenFault }

export interface TokenEndpoint extends GuardedLookUps {
  /** Certificates in PEM that are trusted; undefined: the public authorities. */
  authorities: string[] | undefined
  /** Of the whole fetch; default: 20 s. */
  timeoutMs?: number
}

const standardTimeoutMs = 20_000
/** characters: RFC 4954 4 wants hosts to take lines of 12,288, in base64 */
const maxTokenLength = 8192
/** If the endpoint does not say, and as long as is believed at the most, ms. */
const standardLifeMs = 3_600_000
const maxLifeMs = 24 * 3_600_000
/** characters */
const maxReasonLength = 300

/** Errors by which an endpoint says that it is in trouble itself (RFC 6749 4.1.2.1); every other one needs a human. */
const passing: ReadonlySet<string> = new Set([
  'temporarily_unavailable',
  'server_error',
  'slow_down',
  'internal_failure',
  'rate_limit_exceeded',
])

/** Asks the token endpoint with these parameters, besides those of the application. Never rejects. */
export async function fetchToken(
  grant: SmarthostGrant,
  parameters: Readonly<Record<string, string>>,
  { timeoutMs = standardTimeoutMs, ...endpoint }: TokenEndpoint,
): Promise<FetchedToken> {
  const secrets = [grant.clientSecret?.reveal(), parameters['refresh_token'], parameters['code'], parameters['code_verifier']]
  const form = new URLSearchParams({ client_id: grant.clientId, ...parameters })
  if (grant.clientSecret) form.set('client_secret', grant.clientSecret.reveal())
  const host = new URL(grant.tokenUrl).host
  try {
    const { status, text } = await guardedRequest(grant.tokenUrl, {
      ...endpoint,
      headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
      signal: within(timeoutMs),
    })
    return readAnswer(
      host,
      status,
      text,
      secrets.filter((each) => each !== undefined),
    )
  } catch (error) {
    return { fault: { isRefusal: false, reason: `${host} cannot be reached: ${reasonOf(error)}` } }
  }
}

function readAnswer(host: string, status: number, text: string, secrets: string[]): FetchedToken {
  const body = objectIn(text)
  if (status === 200 && body !== null) {
    const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds, token_type: type } = body
    if (typeof accessToken !== 'string' || !isToken(accessToken)) return passingFault(`${host} gave no access token that can be used`)
    if (typeof type === 'string' && type.toLowerCase() !== 'bearer') return passingFault(`${host} gave a token that is not a bearer token`)
    return {
      accessToken,
      expiresInMs: lifeOf(seconds),
      refreshToken: typeof refreshToken === 'string' && refreshToken !== '' ? refreshToken : null,
    }
  }
  const error = typeof body?.['error'] === 'string' ? body['error'] : null
  if (error === null || status >= 500 || status === 429 || status < 400) return passingFault(`${host} answered with status ${status}`)
  const described = typeof body?.['error_description'] === 'string' ? body['error_description'] : ''
  const reason = shown(described === '' ? error : `${error}: ${described}`, secrets)
  return passing.has(error) ? passingFault(`${host} says ${reason}`) : { fault: { isRefusal: true, reason } }
}

const passingFault = (reason: string): FetchedToken => ({ fault: { isRefusal: false, reason } })

/** RFC 6750 2.1; anything else could end the response that it is in. */
const isToken = (text: string): boolean => /^[\x21-\x7e]+$/.test(text) && text.length <= maxTokenLength

function lifeOf(seconds: unknown): number {
  const life = Number(seconds) * 1000
  return Number.isFinite(life) && life > 0 ? Math.min(life, maxLifeMs) : standardLifeMs
}

/** The first line of what a provider says; Microsoft adds ids and the time in others. */
function shown(words: string, secrets: string[]): string {
  const [line = ''] = words.split(/[\r\n]/)
  const withoutSecrets = secrets.reduce((text, secret) => text.replaceAll(secret, '(not shown)'), line)
  return withoutSecrets.replace(/[^ -~]/g, '?').slice(0, maxReasonLength)
}

function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
