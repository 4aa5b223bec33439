import { domainToASCII, domainToUnicode } from 'node:url'

type ParsedDomain = { ok: true; domain: string } | { ok: false; fault: string }

const ldhLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

// Letters, marks and digits, and the five characters that RFC 5892 allows in specific contexts.
const uLabel = /^[\p{L}\p{M}\p{N}\u00b7\u0375\u05f3\u05f4\u30fb-]+$/u

const refuse = (fault: string): ParsedDomain => ({ ok: false, fault })

/** The A-label of one label; null unless it survives conversion in both directions. */
function aLabelFor(label: string): string | null {
  const nfc = label.normalize('NFC')
  // A compatibility character (ｅ, ⅷ, ﬁ) looks like another domain than the one it maps to.
  if (!uLabel.test(nfc) || nfc.normalize('NFKC') !== nfc) return null
  const ascii = domainToASCII(nfc)
  if (!ascii.startsWith('xn--') || !ldhLabel.test(ascii)) return null
  return domainToASCII(domainToUnicode(ascii)) === ascii ? ascii : null
}

function aLabelOf(label: string): string | null {
  const lower = label.toLowerCase()
  // Not the lower-cased label: K (Kelvin sign) would become a plain k.
  if (/[\u0080-\u{10ffff}]/u.test(label)) return aLabelFor(label)
  if (!ldhLabel.test(lower)) return null
  if (!lower.startsWith('xn--')) return lower
  const unicode = domainToUnicode(lower)
  return unicode !== lower && aLabelFor(unicode) === lower ? lower : null
}

/**
 * Parses a domain name into lower-case A-labels (RFC 5321 4.1.2, RFC 5890). Refuses trailing dots, address literals and underscores, and
 * U-labels that are invalid or compatibility forms.
 */
export function parseDomain(text: string): ParsedDomain {
  if (text === '') return refuse('The domain after the @ is missing.')
  if (text.length > 255) return refuse('A domain has at most 253 octets.')
  if (/[[\]]/.test(text)) return refuse('An address literal such as [192.0.2.1] is not accepted; use a domain.')
  if (text.endsWith('.')) return refuse('The domain ends with a dot; remove it.')
  const labels: string[] = []
  for (const label of text.split('.')) {
    if (label === '') return refuse('The domain has an empty label: two dots in a row or one at its start.')
    const ascii = aLabelOf(label)
    if (ascii === null) return refuse(`The domain label ${JSON.stringify(label.toWellFormed())} is not valid.`)
    labels.push(ascii)
  }
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) return refuse('An IP address is not a domain; use a domain name.')
  const domain = labels.join('.')
  return domain.length > 253 ? refuse('A domain has at most 253 octets.') : { ok: true, domain }
}

/** Whether others can look up the name. `localhost` and the like mean a different computer to everybody else. */
export const isFullName = (hostname: string): boolean => hostname.includes('.')
