import { comparedAddress, parseAddress } from '../../platform/smtp/address.ts'
import { parsePasted } from '../../platform/smtp/mailbox.ts'

/** The form of an address in the list. */
export const suppressionAddress = comparedAddress

/** The form of an entry that stands for all addresses of a domain: `@example.com`. Its subdomains are domains of their own. */
export const wholeDomainOf = (address: string): string => suppressionAddress(address.slice(address.lastIndexOf('@')))

/** What somebody pasted to have it suppressed: an address, with or without a name, or a whole domain as `@example.com`. */
export function parseSuppressed(text: string): { ok: true; address: string } | { ok: false; fault: string } {
  const trimmed = text.trim()
  if (!trimmed.startsWith('@')) return parsePasted(text)
  const parsed = parseAddress(`any${trimmed}`)
  return parsed.ok ? { ok: true, address: `@${parsed.domain}` } : parsed
}
