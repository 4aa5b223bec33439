import { createHash, createHmac } from 'node:crypto'
import { microsoftLogin, type OauthGrant, type OauthProvider } from '../../platform/config/oauth-settings.ts'
import type { Config } from '../../platform/config/settings.ts'
import type { Secret } from '../../platform/config/setting-types.ts'

/** How access tokens for the smarthost's login are got. */
export interface SmarthostGrant {
  provider: OauthProvider
  grant: OauthGrant
  tokenUrl: string
  clientId: string
  clientSecret: Secret | null
  scope: string | null
  /** Who logs in. */
  user: string
  /** Where a person allows it; null if that is not known. */
  authorizeUrl: string | null
}

/** By the settings; null: the login, if there is one, needs no access token. */
export function smarthostGrantOf({ delivery }: Pick<Config, 'delivery'>): SmarthostGrant | null {
  const { smarthostOauth: provider, smarthostUser: user, smarthostOauthTokenUrl: tokenUrl, smarthostOauthClientId: clientId } = delivery
  if (provider === null || user === null || tokenUrl === null || clientId === null) return null
  return {
    provider,
    grant: delivery.smarthostOauthGrant,
    tokenUrl,
    clientId,
    clientSecret: delivery.smarthostOauthClientSecret,
    scope: delivery.smarthostOauthScope,
    user,
    authorizeUrl: authorizeUrlOf(provider, delivery.smarthostOauthTenant),
  }
}

function authorizeUrlOf(provider: OauthProvider, tenant: string | null): string | null {
  if (provider === 'google') return 'https://accounts.google.com/o/oauth2/v2/auth'
  return provider === 'microsoft' && tenant !== null ? `${microsoftLogin}/${tenant}/oauth2/v2.0/authorize` : null
}

/** Identifies what the tokens are for. Another secret of the same application gets the same. */
export const grantId = (grant: SmarthostGrant): string => createHash('sha256').update(partsOf(grant)).digest('base64url')

/** Identifies what the provider sees of the settings, and may refuse; tells nobody the secret. */
export const presentedId = (grant: SmarthostGrant, key: Buffer): string =>
  createHmac('sha256', key)
    .update(`${partsOf(grant)} ${grant.clientSecret?.reveal() ?? ''}`)
    .digest('base64url')

const partsOf = ({ grant, tokenUrl, clientId, scope, user }: SmarthostGrant): string =>
  JSON.stringify([grant, tokenUrl, clientId, scope, user])
