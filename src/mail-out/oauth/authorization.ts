import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { SmarthostGrant } from './smarthost-grant.ts'

/**
 * Where the provider sends the browser once a person has agreed. Nothing listens there: the person copies the address, which has the code.
 * Both providers allow it to applications of the desktop (RFC 8252 7.3).
 */
const redirectUri = 'http://localhost'

/** The page of the provider where a person lets us send as the user, with the code challenge of RFC 7636; null if it is not known. */
export function authorizationUrl({ authorizeUrl, provider, clientId, scope, user }: SmarthostGrant, key: Buffer): string | null {
  if (authorizeUrl === null) return null
  const state = randomBytes(16).toString('base64url')
  const challenge = createHash('sha256').update(verifierOf(state, key)).digest('base64url')
  const url = new URL(authorizeUrl)
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: scope ?? '',
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    login_hint: user,
    // Google gives a refresh token only then.
    ...(provider === 'google' && { access_type: 'offline', prompt: 'consent' }),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

/** What gets tokens for the address that the browser was sent to, or what is wrong with that. */
export function codeParameters(address: string, key: Buffer): Record<string, string> | string {
  const parameters = URL.parse(address.trim())?.searchParams
  if (!parameters) return 'It is not an address. Copy the whole address that the browser ends up at; it begins with http://localhost.'
  const refused = parameters.get('error')
  if (refused !== null) return `The provider has refused: ${shown(parameters.get('error_description') ?? refused)}`
  const [code, state] = [parameters.get('code'), parameters.get('state')]
  if (code === null || state === null)
    return 'It has no code. Copy the whole address that the browser ends up at; it begins with http://localhost.'
  return { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifierOf(state, key) }
}

/** Any node can compute it, and nobody else. */
const verifierOf = (state: string, key: Buffer): string => createHmac('sha256', key).update(state).digest('base64url')

const shown = (words: string): string => (words.split(/[\r\n]/)[0] ?? '').replace(/[^ -~]/g, '?').slice(0, 300)
