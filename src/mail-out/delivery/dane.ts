import { createHash, type X509Certificate } from 'node:crypto'
import { messageOf } from '../../platform/errors.ts'
import type { TlsaRecord } from '../../platform/resolver.ts'

/** What DANE requires of a host (RFC 7672). */
export type Dane = DaneRecords | DaneUnusable | DaneFault

/** One of these must match what it shows. */
export interface DaneRecords {
  is: 'records'
  records: TlsaRecord[]
  /** The name that the records are for, and that the host is asked for (SNI). */
  base: string
  /** Those that the certificate may be for, if an authority vouches for it. */
  names: string[]
  /** The same for records that ask for the same. */
  key: string
}

/** It has records, but none that we can use: TLS is required, whatever the certificate. */
export interface DaneUnusable {
  is: 'unusable'
  records: TlsaRecord[]
  /** The name that they are for. */
  base: string
}

/** Nobody can say whether it has any, so mail must not go there now. */
export interface DaneFault {
  is: 'fault'
  fault: string
}

/** The hosts that a certificate may be for, and when it is looked at (epoch, ms). */
interface Expected {
  names: readonly string[]
  at: number
}

/** RFC 6698 2.1, RFC 7671 2. */
const usages = { trustAnchor: 2, endEntity: 3 }
const digestSizes = [null, 32, 64]
const maxRecords = 100

/**
 * The records that SMTP can use (RFC 7672 3.1): those with usage 2 or 3. Usages 0 and 1 need authorities that both sides trust, of which
 * there are none between mail servers. Of more than a hundred only the first count, sorted by text: hosts have a few, and each handshake
 * compares them all.
 */
export function usableRecords(records: TlsaRecord[]): TlsaRecord[] {
  const usable = records.filter(({ usage, selector, matchingType, data }) => {
    const isKnown = (usage === usages.trustAnchor || usage === usages.endEntity) && selector <= 1
    const size = digestSizes[matchingType]
    return isKnown && size !== undefined && (size === null ? data.length > 0 : data.length === size)
  })
  return firstOf(usable)
}

/** Up to a hundred, sorted by text if there are more. */
export function firstOf(records: TlsaRecord[]): TlsaRecord[] {
  if (records.length <= maxRecords) return records
  const byText = new Map(records.map((record) => [textOfTlsa(record), record]))
  const first = [...byText.keys()].toSorted().slice(0, maxRecords)
  return first.flatMap((text) => byText.get(text) ?? [])
}

/** Whether any of the records may match an authority; if so, names and dates count. */
export const namesAuthority = (records: readonly TlsaRecord[]): boolean => records.some(({ usage }) => usage === usages.trustAnchor)

/** Identifies a set of records, whatever their order. */
export function fingerprintOf(records: TlsaRecord[]): string {
  const texts = records.map(textOfTlsa)
  return createHash('sha256').update(texts.toSorted().join('\n')).digest('base64url')
}

/** As zone files have it (RFC 6698 2.2). */
export const textOfTlsa = ({ usage, selector, matchingType, data }: TlsaRecord): string =>
  `${usage} ${selector} ${matchingType} ${data.toString('hex')}`

/**
 * Why the certificates of a host do not match its usable records, in the codes of Node where it has one; null if they do. A record of
 * usage 3 matches the host's own certificate or key, whatever that says of names and dates. One of usage 2 matches an authority, which must
 * have issued it, and then names and dates count.
 * @param shown the host's own certificate, each issued by the next
 */
export function daneFault(shown: readonly X509Certificate[], records: readonly TlsaRecord[], expected: Expected): string | null {
  const [own] = shown
  if (!own) return 'the host showed no certificate'
  const matches = (certificate: X509Certificate, usage: number): boolean => {
    const valueOf = valuesOf(certificate)
    return records.some((record) => record.usage === usage && valueOf(record)?.equals(record.data))
  }
  if (matches(own, usages.endEntity)) return null
  const anchor = shown.findIndex((certificate, place) => place > 0 && matches(certificate, usages.trustAnchor))
  if (anchor === -1) return 'no TLSA record matches the certificate'
  try {
    return chainFault(shown.slice(0, anchor + 1), expected.at) ?? nameFault(own, expected.names)
  } catch (error) {
    // OpenSSL throws at names and keys that it cannot read.
    return `the certificate cannot be read: ${messageOf(error)}`
  }
}

function chainFault(chain: X509Certificate[], at: number): string | null {
  for (const [place, certificate] of chain.entries()) {
    if (at > Date.parse(certificate.validTo)) return 'CERT_HAS_EXPIRED'
    if (at < Date.parse(certificate.validFrom)) return 'CERT_NOT_YET_VALID'
    const issuer = chain[place + 1]
    if (issuer && !(issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)))
      return 'the authority of the TLSA record has not issued the certificate'
  }
  return null
}

function nameFault(certificate: X509Certificate, names: readonly string[]): string | null {
  const isNamed = names.some((name) => certificate.checkHost(name, { partialWildcards: false }) !== undefined)
  return isNamed ? null : 'ERR_TLS_CERT_ALTNAME_INVALID'
}

/** What a record that names the certificate has as its data; null if that cannot be found. Made once for each form that records have it in. */
function valuesOf(certificate: X509Certificate): (record: TlsaRecord) => Buffer | null {
  const made = new Map<string, Buffer | null>()
  return ({ selector, matchingType }) => {
    const form = `${selector} ${matchingType}`
    const known = made.get(form)
    if (known !== undefined) return known
    const value = valueIn(certificate, selector, matchingType)
    made.set(form, value)
    return value
  }
}

function valueIn(certificate: X509Certificate, selector: number, matchingType: number): Buffer | null {
  const bytes = selector === 0 ? certificate.raw : keyOf(certificate)
  if (bytes === null || matchingType === 0) return bytes
  return createHash(matchingType === 1 ? 'sha256' : 'sha512')
    .update(bytes)
    .digest()
}

/** The key in DER, as the certificate has it; null if it cannot be found. Written anew it may differ, for DER leaves some choices. */
function keyOf({ raw }: X509Certificate): Buffer | null {
  const toBeSigned = contentAt(raw, contentAt(raw, 0)?.from ?? 0)
  let at = toBeSigned?.from ?? raw.length
  // RFC 5280 4.1: [version], serial number, algorithm, issuer, validity, subject; then the key.
  for (let skipped = raw[at] === 0xa0 ? 0 : 1; skipped < 6; skipped++) at = contentAt(raw, at)?.to ?? raw.length
  const key = contentAt(raw, at)
  return key && raw.subarray(at, key.to)
}

/** Where the content of an element of DER begins and ends; null if it has none. */
function contentAt(der: Buffer, at: number): { from: number; to: number } | null {
  const first = der[at + 1]
  if (first === undefined) return null
  if (first < 0x80) return { from: at + 2, to: at + 2 + first }
  const from = at + 2 + (first & 0x7f)
  if (from > der.length || first === 0x80) return null
  return { from, to: from + der.readUIntBE(at + 2, Math.min(first & 0x7f, 6)) }
}

/** The host's certificates, each issued by the next. A certificate that signs itself is the last. */
export function shownBy(own: X509Certificate | undefined): X509Certificate[] {
  const shown: X509Certificate[] = []
  for (let each = own; each && shown.length < maxChain; each = each.issuerCertificate) {
    if (shown.at(-1)?.fingerprint256 === each.fingerprint256) break
    shown.push(each)
  }
  return shown
}

/** OpenSSL has a limit too, of a hundred. */
const maxChain = 20
