import { createSecureContext, rootCertificates, type ConnectionOptions, type SecureContext } from 'node:tls'
import { isIP } from 'node:net'

/** `impossible`: it will fail again, as after an alert or without a common version. `broken off`: reset, time-out, or silence. */
export type TlsTrouble = 'impossible' | 'broken off'

export const postQuantumGroup = 'X25519MLKEM768'

/** Which groups a hello names: all that we know, or those that fit into one packet with their shares. */
export type HelloGroups = 'all' | 'classical'

/**
 * All names X25519MLKEM768 first, but sends no share for it (`?`): 381 bytes, where with a share it is 1,601 in two packets. A host that
 * knows the group asks for the share. OpenSSL before 3.5 knows neither the group nor such lists.
 */
const groupLists: Record<HelloGroups, string> = { all: `?${postQuantumGroup}:DEFAULT`, classical: 'X25519:P-256:X448:P-384:P-521' }
const knowsGroupLists = !/^(1\.|3\.[0-4]\.)/.test(process.versions.openssl)

/** What handshakes begin with: trusts the public authorities and these. Parses them once per thread for each list of groups. */
export function trustContexts(extraAuthorities: string[]): (groups: HelloGroups) => SecureContext {
  const newContext = (groups: HelloGroups): SecureContext =>
    createSecureContext({
      minVersion: 'TLSv1.2',
      ...((groups === 'classical' || knowsGroupLists) && { ecdhCurve: groupLists[groups] }),
      ...(extraAuthorities.length > 0 && { ca: [...rootCertificates, ...extraAuthorities] }),
    })
  const all = newContext('all')
  let classical: SecureContext | null = null
  return (groups) => (groups === 'all' ? all : (classical ??= newContext(groups)))
}

/** The certificate is judged after the handshake, because an opportunistic connection is used whatever it says. */
export const handshakeOptions = (mxHost: string, secureContext: SecureContext): ConnectionOptions => ({
  host: mxHost,
  secureContext,
  minVersion: 'TLSv1.2',
  rejectUnauthorized: false,
  // RFC 6066 3: no address literals in SNI.
  ...(isIP(mxHost) === 0 && { servername: mxHost }),
})

/** True of a fault of TLS itself, which will recur: an alert from the peer, no common version, or no TLS at all. */
export const isTlsFault = ({ code }: NodeJS.ErrnoException): boolean => code === 'EPROTO' || code?.startsWith('ERR_SSL_') === true

/** True if the connection failed because this process, or this machine, may open no more files. */
export const isOutOfSockets = ({ code }: NodeJS.ErrnoException): boolean => code === 'EMFILE' || code === 'ENFILE'

/** OpenSSL's own words, such as `tlsv13 alert certificate required`, without the place in its source. */
export const connectionFault = (error: Error & { reason?: string }): string => error.reason ?? error.message
