import type { ApiKeys } from '../../senders/account/api-keys.ts'
import { rightsOfKey } from '../../senders/account/permission.ts'
import type { Sessions } from '../../senders/account/sessions.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Caller } from './caller.ts'

export interface AuthenticateServices {
  apiKeys: Pick<ApiKeys, 'authenticate'>
  sessions: Pick<Sessions, 'holderOf' | 'isSessionToken'>
}

/** Where a request comes from. */
interface Origin {
  clientAddress: string
  requestId: string
}

/**
 * Who makes the request, by its `Authorization: Bearer` (RFC 6750 2.1): a program with an API key, or a user with the token that a
 * session was exchanged for.
 * @throws SternaError `missing_api_key`, `invalid_api_key`, `expired_api_key`, `invalid_session`
 */
export function authenticate(authorization: string | undefined, from: Origin, { apiKeys, sessions }: AuthenticateServices): Caller {
  const token = bearerToken(authorization)
  return sessions.isSessionToken(token) ? userOf(sessions.holderOf(token), from) : authenticateKey(token, from, { apiKeys })
}

/**
 * The program with this API key, for compat APIs that read it from another header than `authenticate` does.
 * @throws SternaError `missing_api_key`, `invalid_api_key`, `expired_api_key`
 */
export function authenticateKey(token: string | null, from: Origin, { apiKeys }: Pick<AuthenticateServices, 'apiKeys'>): Caller {
  if (token === null) throw new SternaError('missing_api_key', 'The request has no API key. Set it in the client.')
  return programOf(apiKeys.authenticate(token), from)
}

/**
 * The token of an Authorization header.
 * @throws SternaError `missing_api_key`
 */
export function bearerToken(field: string | undefined): string {
  if (field === undefined || field === '') {
    throw new SternaError('missing_api_key', 'Send your API key in the header "Authorization: Bearer <API_KEY>".')
  }
  const token = /^Bearer +([^ ]+) *$/i.exec(field)?.[1]
  if (token !== undefined) return token
  throw new SternaError('missing_api_key', 'The Authorization header must read "Bearer <API_KEY>"; no other scheme is accepted.')
}

function programOf(key: ReturnType<ApiKeys['authenticate']>, { clientAddress: address, requestId }: Origin): Caller {
  if ('refused' in key) {
    throw key.refused === 'expired'
      ? new SternaError('expired_api_key', 'This API key has expired. Create a new one.')
      : new SternaError('invalid_api_key', 'This API key is not valid: it is mistyped or has been revoked.')
  }
  return {
    accountId: key.accountId,
    domainId: key.domainId,
    sandbox: key.sandbox,
    confined: key.confined,
    rights: rightsOfKey(key.permission),
    actor: { type: 'key', id: key.id, name: key.name },
    address,
    requestId,
  }
}

const userOf = (
  { user, accountId, rights, sandbox, confined }: ReturnType<Sessions['holderOf']>,
  { clientAddress: address, requestId }: Origin,
): Caller => ({
  accountId,
  domainId: null,
  sandbox,
  confined,
  rights,
  actor: { type: 'user', id: user.id, name: user.email },
  address,
  requestId,
})
