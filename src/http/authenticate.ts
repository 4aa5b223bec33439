import type { ApiKeys } from '../account/api-keys.ts'
import { SternaError } from '../errors.ts'
import type { ApiContext, ApiState } from './api-state.ts'

export interface AuthenticateParts {
  apiKeys: Pick<ApiKeys, 'authenticate'>
}

/**
 * Whom the request's `Authorization: Bearer` names (RFC 6750 2.1).
 * @throws SternaError `missing_api_key`, `invalid_api_key`, `expired_api_key`
 */
export function authenticate(ctx: ApiContext, parts: AuthenticateParts): ApiState['submitter'] {
  const field = ctx.req.headers.authorization
  if (field === undefined || field === '') {
    throw new SternaError('missing_api_key', 'Send your API key in the header "Authorization: Bearer <API_KEY>".')
  }
  const token = /^Bearer +([^ ]+) *$/i.exec(field)?.[1]
  if (token === undefined) {
    throw new SternaError('missing_api_key', 'The Authorization header must read "Bearer <API_KEY>"; other schemes are not taken.')
  }
  const key = parts.apiKeys.authenticate(token)
  if ('refused' in key) {
    throw key.refused === 'expired'
      ? new SternaError('expired_api_key', 'This API key has expired. Make a new one.')
      : new SternaError('invalid_api_key', 'This API key is not valid: it is mistyped, or was revoked.')
  }
  return {
    accountId: key.accountId,
    keyId: key.id,
    domainId: key.domainId,
    sandbox: key.sandbox,
    permission: key.permission,
  }
}
