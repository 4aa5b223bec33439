import { domainToUnicode } from 'node:url'
import type { Address } from '../../platform/smtp/address.ts'
import { suppressionAddress } from '../../mail/suppression/suppression-address.ts'

/** The ways in which stored data may contain an address. */
export interface AddressForms {
  /** The bare address, lower case. */
  address: string
  /** For `like` over lower-case texts: matches every text that names the address, and some others. */
  pattern: string
  /** True if a text contains the address in any form. */
  names(text: string): boolean
  /** The same, even inside a word: `welcome-ann@rcpt.example`. */
  isPartOf(text: string): boolean
  /** The text with `erased` instead of the address. */
  without(text: string, erased: string): string
}

/** The `@` literally, percent-encoded, and in quoted-printable. */
const ats = ['@', '%40', '=40']

export function addressForms({ localPart, domain }: Address): AddressForms {
  const locals = new Set(
    [localPart, JSON.stringify(localPart).slice(1, -1), encodeURIComponent(localPart), inXtext(localPart)].map(suppressionAddress),
  )
  const domains = [...new Set([domain, suppressionAddress(domainToUnicode(domain))])].filter((name) => name !== '')
  const local = `(?:${anyOf(locals)})`
  // In a reverse-path, after a name and a separator.
  const inVerp = String.raw`(?<![\p{L}\p{N}._])${local}=`
  const found = new RegExp(`(?:${beginning}${local}(?:${anyOf(ats)})|${inVerp})(?:${anyOf(domains)})${end}`, 'giu')
  const part = new RegExp(`${local}(?:${anyOf(ats)}|=)(?:${anyOf(domains)})`, 'iu')
  return {
    address: suppressionAddress(`${localPart}@${domain}`),
    // Matches anything where a form may be encoded, or where `like` has wildcards.
    pattern: `%${suppressionAddress(localPart).replace(/[^a-z0-9]+/g, '%')}%${domains.length > 1 ? '' : domain}%`,
    names: (text) => text.search(found) !== -1,
    isPartOf: (text) => part.test(text),
    without: (text, erased) => text.replace(found, erased),
  }
}

/**
 * Not inside a longer address: the local part must not continue to the left, nor the domain to the right. A percent-encoded character in
 * front is a separate character.
 */
const beginning = String.raw`(?<=%[0-9a-f]{2}|[^\p{L}\p{N}._%+-]|^)`
const end = String.raw`(?![\p{L}\p{N}-]|\.[\p{L}\p{N}])`

const anyOf = (texts: Iterable<string>): string => [...texts].map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)).join('|')

/** RFC 3461 4 */
const inXtext = (text: string): string => text.replace(/[+=]/g, (sign) => `+${sign.charCodeAt(0).toString(16).toUpperCase()}`)
