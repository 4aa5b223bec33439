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
  /** Default: none. */
  login?: Credentials
}

/** The smarthost from the settings. */
export function smarthostOf({ smarthost, smarthostTls, smarthostVerify, ...login }: Config['delivery']): Smarthost | null {
  if (!smarthost) return null
  const { smarthostUser: user, smarthostPassword } = login
  const policy = smarthostTls === 'opportunistic' ? smarthostTls : smarthostVerify ? 'verify' : 'require'
  const tls = { isImplicit: smarthostTls === 'implicit', policy } as const
  return {
    ...smarthost,
    tls,
    ...(user !== null && smarthostPassword !== null && { login: { user, password: smarthostPassword.reveal() } }),
  }
}
