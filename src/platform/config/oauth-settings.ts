import { isIP } from 'node:net'
import { emailAddress, isHostname, SettingFault, type SettingType } from './setting-types.ts'

/** Whose access tokens the smarthost takes. */
export type OauthProvider = 'microsoft' | 'google' | 'other'

/** How an access token is got (RFC 6749 4.4 and 6). */
export type OauthGrant = 'client_credentials' | 'refresh_token'

/** The login server of all Microsoft tenants. */
export const microsoftLogin = 'https://login.microsoftonline.com'

/** A directory of Microsoft Entra: its id, a domain, or `common` and the like. */
export const oauthTenant: SettingType<string> = {
  title: 'text',
  parse(given) {
    const name = String(given).toLowerCase()
    if (isHostname(name)) return name
    throw new SettingFault(`${JSON.stringify(given)} is not a tenant. Write its id, or a domain of it like example.onmicrosoft.com.`)
  },
}

/** Secrets are sent to it, so it is https, or on this machine. */
export const tokenUrl: SettingType<string> = {
  title: 'URL',
  parse(given) {
    const url = URL.parse(String(given))
    const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
    if (url && isSafe && !url.username && !url.hash) return url.href
    throw new SettingFault(`${JSON.stringify(given)} is not an https URL. Write it like https://login.example.com/oauth2/token`)
  },
}

const isLoopback = (host: string): boolean => host === '[::1]' || (isIP(host) === 4 && host.startsWith('127.'))

/** Null if it must be set. */
export function standardTokenUrl(provider: unknown, tenant: unknown): string | null {
  if (provider === 'google') return 'https://oauth2.googleapis.com/token'
  return provider === 'microsoft' && typeof tenant === 'string' ? `${microsoftLogin}/${tenant}/oauth2/v2.0/token` : null
}

/** Null: none is asked for. */
export function standardScope(provider: unknown, grant: unknown): string | null {
  if (provider === 'google') return 'https://mail.google.com/'
  if (provider !== 'microsoft') return null
  return grant === 'client_credentials' ? 'https://outlook.office365.com/.default' : 'https://outlook.office.com/SMTP.Send offline_access'
}

/** The only envelope sender that the provider takes; null: any. */
export function fixedSender(provider: unknown, user: unknown): string | null {
  if (provider !== 'microsoft' && provider !== 'google') return null
  try {
    return emailAddress.parse(user)
  } catch {
    return null
  }
}

/** What is wrong with the settings of a login by OAuth 2; null: nothing. */
export function faultOfOauth(valueOf: (name: string) => unknown): string | null {
  const given = (name: string): boolean => valueOf(`delivery.smarthost_${name}`) !== null
  const lacking = (name: string, why: string): string => `delivery.smarthost_oauth: ${why}. Set delivery.smarthost_${name} too.`
  const provider = valueOf('delivery.smarthost_oauth')
  if (provider === null) {
    const [other] = ['client_id', 'client_secret', 'tenant', 'scope', 'token_url'].filter((name) => given(`oauth_${name}`))
    return other === undefined ? null : `delivery.smarthost_oauth_${other}: it says nothing without delivery.smarthost_oauth. Set it too.`
  }
  if (valueOf('delivery.smarthost') === null) return 'delivery.smarthost_oauth: there is no delivery.smarthost to log in to. Set it too.'
  if (given('password')) return 'delivery.smarthost_oauth: a login has either a password or OAuth 2. Remove delivery.smarthost_password.'
  if (!given('user')) return lacking('user', 'it is not set who logs in')
  if (provider !== 'other' && fixedSender(provider, valueOf('delivery.smarthost_user')) === null)
    return 'delivery.smarthost_user: with this provider it must be the address of a mailbox.'
  if (!given('oauth_token_url')) {
    return provider === 'microsoft'
      ? lacking('oauth_tenant', 'the tenant is not known')
      : lacking('oauth_token_url', 'it is not known where access tokens are got')
  }
  if (!given('oauth_client_id')) return lacking('oauth_client_id', 'the application is not known')
  if (valueOf('delivery.smarthost_oauth_grant') === 'client_credentials' && !given('oauth_client_secret'))
    return lacking('oauth_client_secret', 'client_credentials needs the secret of the application')
  return null
}
