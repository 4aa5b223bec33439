import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** What the first bytes of a connection say by the PROXY protocol, versions 1 and 2 (HAProxy's proxy-protocol.txt). */
export type ProxyHeader =
  /** More is needed to tell. */
  | { found: 'part' }
  /** They are something else. */
  | { found: 'none' }
  /** They begin like a header, and no proxy writes what follows. */
  | { found: 'broken' }
  | {
      found: 'header'
      /** bytes */
      length: number
      /** The client's; null where the proxy speaks for itself, such as to see whether we are there. */
      address: string | null
    }

const part: ProxyHeader = { found: 'part' }
const broken: ProxyHeader = { found: 'broken' }

const beginningV1 = Buffer.from('PROXY ')
/** bytes, with CRLF */
const longestV1 = 107
const signatureV2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

/** @param bytes all that has come on the connection so far */
export function parseProxyHeader(bytes: Buffer): ProxyHeader {
  if (beginsWith(bytes, beginningV1)) return bytes.length < beginningV1.length ? part : parseV1(bytes)
  if (beginsWith(bytes, signatureV2)) return bytes.length < signatureV2.length + 4 ? part : parseV2(bytes)
  return { found: 'none' }
}

/** As far as there are bytes. */
const beginsWith = (bytes: Buffer, beginning: Buffer): boolean =>
  beginning.subarray(0, bytes.length).equals(bytes.subarray(0, beginning.length))

function parseV1(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, longestV1).indexOf('\r\n')
  if (end === -1) return bytes.length < longestV1 ? part : broken
  const length = end + 2
  const line = bytes.toString('latin1', beginningV1.length, end)
  if (/^UNKNOWN(?: |$)/.test(line)) return { found: 'header', length, address: null }
  const [, family, source = '', target = '', ...ports] = /^TCP([46]) ([\da-fA-F.:]+) ([\da-fA-F.:]+) (\d{1,5}) (\d{1,5})$/.exec(line) ?? []
  if ([source, target].some((address) => isIP(address) !== Number(family)) || ports.some((port) => Number(port) > 65_535)) return broken
  return { found: 'header', length, address: ipaddr.process(source).toString() }
}

/** By the byte that tells family and transport: how long the client's address is, which comes first. */
const addressLengths: Record<number, { address: number; all: number }> = { 0x11: { address: 4, all: 12 }, 0x21: { address: 16, all: 36 } }
/** Of no family that is told, and of Unix sockets. */
const withoutAddress = new Set([0x00, 0x31, 0x32])

function parseV2(bytes: Buffer): ProxyHeader {
  const fixed = signatureV2.length + 4
  const command = bytes.readUInt8(12)
  const family = bytes.readUInt8(13)
  const length = fixed + bytes.readUInt16BE(14)
  const lengths = addressLengths[family]
  if (command !== 0x20 && command !== 0x21) return broken
  const isOwn = command === 0x20 || withoutAddress.has(family)
  if (!isOwn && (!lengths || length < fixed + lengths.all)) return broken
  if (bytes.length < length) return part
  if (isOwn || !lengths) return { found: 'header', length, address: null }
  const address = ipaddr.fromByteArray([...bytes.subarray(fixed, fixed + lengths.address)])
  return { found: 'header', length, address: ipaddr.process(address.toString()).toString() }
}
