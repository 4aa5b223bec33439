import type { Config } from '../../platform/config/settings.ts'
import type { Credentials } from './sasl.ts'
import type { NamedSmarthost } from '../smarthost/smarthost-object.ts'
import type { TlsPolicy } from '../../platform/config/recipient-tls.ts'

/** A host that relays mail instead of the MX hosts. */
export interface Smarthost {
  /** Default: it is the one of the settings. */
  name?: string
  /** Of those with a name: another one may get it later. */
  id?: string | undefined
  /** How often it was changed: a connection to what it was before is not used. */
  revision?: number | undefined
  /** Name or IP address. */
  host: string
  port: number
  /** Default: opportunistic, by STARTTLS. */
  tls?: { isImplicit: boolean; policy: TlsPolicy }
  /** Default: none. Without a password, by an access token. */
  login?: Credentials | { user: string }
  /** The reverse-path of all mail by it; default: that of each message. */
  sender?: string
}

/** The smarthost from the settings. */
export function smarthostOf({
  smarthost,
  smarthostTls,
  smarthostVerify,
  smarthostSender: sender,
  ...login
}: Config['delivery']): Smarthost | null {
  if (!smarthost) return null
  const { smarthostUser: user, smarthostPassword: password, smarthostOauth } = login
  return {
    ...smarthost,
    tls: tlsOf(smarthostTls, smarthostVerify),
    ...(sender !== null && { sender }),
    ...(user !== null && password !== null && { login: { user, password: password.reveal() } }),
    ...(user !== null && smarthostOauth !== null && { login: { user } }),
  }
}

/** One that routes name. */
export const smarthostNamed = ({ name, id, revision, host, port, tls, verify, login, sender }: NamedSmarthost): Smarthost => ({
  name,
  id,
  revision,
  host,
  port,
  tls: tlsOf(tls, verify),
  ...(login && { login }),
  ...(sender !== null && { sender }),
})

/** Identifies a smarthost as it is now: what was learnt of it before a change says nothing any more. */
export const smarthostKey = ({ id, revision }: Pick<Smarthost, 'id' | 'revision'>): string =>
  id === undefined ? 'smarthost' : `${id} ${revision}`

const tlsOf = (mode: NamedSmarthost['tls'], verify: boolean): NonNullable<Smarthost['tls']> => ({
  isImplicit: mode === 'implicit',
  policy: mode === 'opportunistic' ? mode : verify ? 'verify' : 'require',
})
