import { isIP } from 'node:net'

/** For whom passkeys are made (WebAuthn 4). */
export interface RelyingParty {
  /** A name in the DNS; a browser uses its passkeys at no other. */
  id: string
  origin: string
}

/** Browsers know passkeys only under https, or at localhost, and never at an IP address: null there. */
export function relyingPartyOf(baseUrl: string): RelyingParty | null {
  const { protocol, hostname, origin } = new URL(baseUrl)
  const isSecure = protocol === 'https:' || hostname === 'localhost'
  return isSecure && isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? { id: hostname, origin } : null
}
