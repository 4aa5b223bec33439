import { parseAddress } from '../../platform/smtp/address.ts'

/** More are not served: a record could name thousands. */
const maxAddresses = 4
const maxAddressLength = 500

/**
 * Where a domain wants its reports, by the texts at `_smtp._tls.DOMAIN` (RFC 8460 3): `mailto:` and `https:` addresses. Empty if it wants
 * none: several records count as none.
 */
export function reportAddresses(texts: readonly string[]): string[] {
  const [record, another] = texts.filter((text) => /^v=TLSRPTv1[ \t]*;/.test(text))
  if (record === undefined || another !== undefined) return []
  const fields = record.split(';').map((field) => field.trim())
  const addresses = fields.filter((field) => /^rua[ \t]*=/.test(field)).flatMap((field) => field.slice(field.indexOf('=') + 1).split(','))
  return [...new Set(addresses.map((address) => address.trim()).filter(isReportAddress))].slice(0, maxAddresses)
}

function isReportAddress(address: string): boolean {
  if (address.length > maxAddressLength || !URL.canParse(address)) return false
  const { protocol, username, password } = new URL(address)
  if (protocol === 'https:') return username === '' && password === ''
  return protocol === 'mailto:' && mailboxOf(address) !== null
}

/** The address of a `mailto:` URI (RFC 6068 2), as `parseAddress` gives it; null for any other, and for several. */
export function mailboxOf(address: string): string | null {
  if (!/^mailto:/i.test(address)) return null
  const encoded = address.slice('mailto:'.length).replace(/\?.*$/s, '')
  try {
    const parsed = parseAddress(decodeURIComponent(encoded))
    return parsed.ok ? parsed.address : null
  } catch {
    return null
  }
}
