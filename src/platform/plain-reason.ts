import { messageOf } from './errors.ts'

/** In the words of people, what the system, TLS and HTTP report by a code. Each completes "It failed: …". */
const words: Record<string, string> = {
  // Files
  ENOENT: 'there is no such file or directory',
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'it exists already',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system can only be read',
  EIO: 'the disk reports a fault',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open on this machine',
  ELOOP: 'its symbolic links lead in a circle',
  ENAMETOOLONG: 'the name is too long',
  // Connections
  EADDRINUSE: 'another program has this port',
  EADDRNOTAVAIL: 'this machine has no such address',
  EAFNOSUPPORT: 'this machine has no addresses of this kind',
  ECONNREFUSED: 'the connection was refused: nothing listens there, or a firewall is in the way',
  ECONNRESET: 'the other side broke off the connection',
  EPIPE: 'the other side closed the connection',
  ETIMEDOUT: 'no connection was made in time',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to its network',
  ENOTFOUND: 'the name has no address',
  EAI_AGAIN: 'the name server did not answer',
  UND_ERR_SOCKET: 'the other side closed the connection before it answered',
  UND_ERR_CONNECT_TIMEOUT: 'no connection was made in time',
  UND_ERR_HEADERS_OVERFLOW: 'the header of the answer is too large',
  // TLS
  ERR_SSL_WRONG_VERSION_NUMBER: 'the other side does not speak TLS on this port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the other side does not speak TLS on this port',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'the other side speaks no version of TLS that is accepted here',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'the other side accepts no version of TLS that is spoken here',
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: 'the other side has no certificate for this name',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'the other side asks for a client certificate',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  CERT_REVOKED: 'its certificate was revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an authority that this machine does not know',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate comes from an authority that this machine does not know',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an authority that this machine does not know',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'it sends its certificate without the intermediate certificates',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for other names',
  // Keys and certificates in files
  ERR_OSSL_PEM_NO_START_LINE: 'it is not a file in PEM format',
  ERR_OSSL_PEM_BAD_END_LINE: 'it is damaged, or not a file in PEM format',
  ERR_OSSL_PEM_BAD_BASE64_DECODE: 'it is damaged, or not a file in PEM format',
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: 'the key is not that of the certificate',
}

/** What a code is about where its own words are not known. */
const kinds: [begins: RegExp, words: string][] = [
  [/^ERR_SSL_|^EPROTO$/, 'TLS could not be agreed with the other side'],
  [/^HPE_/, 'the answer is not valid HTTP'],
]

/**
 * Why something failed, for people: plain words in the place of those of the operating system, OpenSSL and libraries, with their code, which
 * can be searched for. An error of ours has its own message.
 */
export function reasonOf(error: unknown): string {
  // Happy Eyeballs wraps the failures of all addresses in an error without a message.
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  const code = codeIn(error)
  const plain = words[code] ?? kinds.find(([begins]) => begins.test(code))?.[1]
  if (plain !== undefined) return `${plain} (${code})`
  return messageOf(error) || code || 'it broke off without a reason'
}

/** Node sometimes gives only `EPROTO`, and OpenSSL's words beside it. */
function codeIn(error: unknown): string {
  const { code, reason } = (error ?? {}) as { code?: unknown; reason?: unknown }
  if (code === 'EPROTO' && typeof reason === 'string') return `ERR_SSL_${reason.toUpperCase().replace(/\W+/g, '_')}`
  return typeof code === 'string' ? code : ''
}
