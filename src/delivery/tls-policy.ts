import { createSecureContext, rootCertificates, type ConnectionOptions, type SecureContext } from 'node:tls'
import { isIP } from 'node:net'
import type { DeliveryJob } from './attempt.ts'

/**
 * What a destination demands of a connection (RFC 7435).
 * `opportunistic`: encrypted where the host offers it, whatever its certificate; plain text where it cannot be.
 * `encrypted`: encrypted, whatever the certificate, or not at all.
 * `enforced`: encrypted to a host whose certificate is valid for its MX name, or not at all.
 * `none`: in plain text, because TLS has failed and left nothing to protect.
 */
export type TlsPolicy = DeliveryJob['tls'] | 'encrypted' | 'none'

/** `impossible`: it will fail again, as by an alert or without a common version. `broken off`: reset, time-out, or silence. */
export type TlsTrouble = 'impossible' | 'broken off'

/** Trusts the public authorities and these. Made once a thread: it parses all of them. */
export const trustContext = (extraAuthorities: string[]): SecureContext =>
  createSecureContext({
    minVersion: 'TLSv1.2',
    ...(extraAuthorities.length > 0 && { ca: [...rootCertificates, ...extraAuthorities] }),
  })

/** The certificate is judged after the handshake, since an opportunistic connection is used whatever it says. */
export const handshakeOptions = (mxHost: string, secureContext: SecureContext): ConnectionOptions => ({
  host: mxHost,
  secureContext,
  minVersion: 'TLSv1.2',
  rejectUnauthorized: false,
  // RFC 6066 3: no address literals in SNI.
  ...(isIP(mxHost) === 0 && { servername: mxHost }),
})

/** Why a connection in this state must carry no mail; null where it may. */
export function tlsObjection(policy: TlsPolicy, tls: { verified: boolean; problem: string } | null): string | null {
  if (policy !== 'enforced' && policy !== 'encrypted') return null
  if (!tls) return 'TLS is required here, but the host does not offer STARTTLS'
  return tls.verified || policy === 'encrypted'
    ? null
    : `TLS is required here, but the certificate is not valid for the host: ${tls.problem}`
}

/** True of a fault of TLS itself, which comes again: an alert of the peer, no common version, what is no TLS at all. */
export const isTlsFault = ({ code }: NodeJS.ErrnoException): boolean => code === 'EPROTO' || code?.startsWith('ERR_SSL_') === true

/** OpenSSL's own words, such as `tlsv13 alert certificate required`, without where in its source they stand. */
export const connectionFault = (error: Error & { reason?: string }): string => error.reason ?? error.message
