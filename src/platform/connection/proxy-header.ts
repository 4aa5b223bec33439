import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** What the first bytes of a connection say in the PROXY protocol, versions 1 and 2 (HAProxy's proxy-protocol.txt). */
type ProxyHeader =
  /** More bytes are needed. */
  | { found: 'part' }
  /** They are something else. */
  | { found: 'none' }
  /** They begin like a header, but no proxy writes what follows. */
  | { found: 'broken' }
  | {
      found: 'header'
      /** bytes */
      length: number
      /** The client's address; null if the proxy speaks for itself, for example in a health check. */
      address: string | null
    }

const part: ProxyHeader = { found: 'part' }
const broken: ProxyHeader = { found: 'broken' }

const beginningV1 = Buffer.from('PROXY ')
/** bytes, with CRLF */
const maxV1Length = 107
const signatureV2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

/** @param bytes everything that has arrived on the connection so far */
export function parseProxyHeader(bytes: Buffer): ProxyHeader {
  if (beginsWith(bytes, beginningV1)) return bytes.length < beginningV1.length ? part : parseV1(bytes)
  if (beginsWith(bytes, signatureV2)) return bytes.length < signatureV2.length + 4 ? part : parseV2(bytes)
  return { found: 'none' }
}

/** Compares only the bytes that have arrived. */
const beginsWith = (bytes: Buffer, beginning: Buffer): boolean =>
  beginning.subarray(0, bytes.length).equals(bytes.subarray(0, beginning.length))

function parseV1(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, maxV1Length).indexOf('\r\n')
  if (end === -1) return bytes.length < maxV1Length ? part : broken
  const length = end + 2
  const line = bytes.toString('latin1', beginningV1.length, end)
  if (/^UNKNOWN(?: |$)/.test(line)) return { found: 'header', length, address: null }
  const [, family, source = '', target = '', ...ports] = /^TCP([46]) ([\da-fA-F.:]+) ([\da-fA-F.:]+) (\d{1,5}) (\d{1,5})$/.exec(line) ?? []
  if ([source, target].some((address) => isIP(address) !== Number(family)) || ports.some((port) => Number(port) > 65_535)) return broken
  return { found: 'header', length, address: ipaddr.process(source).toString() }
}

/** The length of the client's address, which comes first, by the byte for family and transport. */
const addressLengths: Record<number, { address: number; all: number }> = { 0x11: { address: 4, all: 12 }, 0x21: { address: 16, all: 36 } }
/** For unspecified families and Unix sockets. */
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
