import type { Config } from '../../platform/config/settings.ts'
import type { Credentials } from './sasl.ts'
import type { TlsPolicy } from '../../platform/config/recipient-tls.ts'

/** The host that relays all mail instead of the MX hosts. */
export interface Smarthost {
  /** Name or IP address. */
  host: string
  port: number
  /** Default: opportunistic, by STARTTLS. */
  tls?: { isImplicit: boolean; policy: TlsPolicy }
  /** Default: none. Without a password, by an access token. */
  login?: Credentials | { user: string }
}

/** The smarthost from the settings. */
export function smarthostOf({ smarthost, smarthostTls, smarthostVerify, ...login }: Config['delivery']): Smarthost | null {
  if (!smarthost) return null
  const { smarthostUser: user, smarthostPassword: password, smarthostOauth } = login
  const policy = smarthostTls === 'opportunistic' ? smarthostTls : smarthostVerify ? 'verify' : 'require'
  const tls = { isImplicit: smarthostTls === 'implicit', policy } as const
  return {
    ...smarthost,
    tls,
    ...(user !== null && password !== null && { login: { user, password: password.reveal() } }),
    ...(user !== null && smarthostOauth !== null && { login: { user } }),
  }
}
