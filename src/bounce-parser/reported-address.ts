const addressType = /^\s*([A-Za-z0-9-]{1,40})\s*;/
const angled = /<([^<>]{1,1000})>/
const comment = /\s*\([^()]*\)\s*$/

/**
 * The address of a field such as Final-Recipient (RFC 3464 2.3.1, RFC 6533 3): without its type, comments and angle
 * brackets, its encoding undone, else as written; null where there is none.
 */
export function reportedAddress(value: string): string | null {
  const [prefix = '', type = ''] = addressType.exec(value) ?? []
  const text = value.slice(prefix.length, prefix.length + 2000).trim()
  const bare = angled.exec(text)?.[1] ?? text.replace(comment, '').replace(/^<|>$/g, '')
  const written = withoutRoute(addressIn(bare.trim()).replace(/^mailto:/i, ''))
  const address = type.toLowerCase() === 'utf-8' ? unicodeOf(written) : plainOf(written)
  // Some systems have only the host there.
  return address === '' || address.startsWith('@') ? null : address
}

/** In one field, and in all; more are the work of somebody who wants to keep us busy. */
const mostAddresses = 100

/** The addresses in fields that have lists of them, each once. */
export function reportedAddresses(values: readonly string[]): string[] {
  const addresses = values
    .flatMap((value) => value.split(',', mostAddresses))
    .map(reportedAddress)
    .filter((address) => address !== null)
  return [...new Set(addresses.filter((address) => address.includes('@')))].slice(0, mostAddresses)
}

/** Without what some systems write behind it: punctuation, or a name. */
function addressIn(text: string): string {
  const word = text.startsWith('"') ? undefined : text.split(/\s+/).find((each) => each.includes('@'))
  return (word ?? text).replace(/[,;.]+$/, '')
}

/** `@a,@b:user@host` (RFC 5321 4.1.1.3) without its route. */
const withoutRoute = (address: string): string => address.replace(/^@[^:"]{1,500}:/, '')

/** Undoes the forms of RFC 6533 3 that keep an address in ASCII: `\x{FC}`. */
const unicodeOf = (address: string): string =>
  address.replace(/\\x\{([0-9A-F]{2,6})\}/gi, (escape, hex: string) => {
    const point = parseInt(hex, 16)
    return point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff) ? String.fromCodePoint(point) : escape
  })

/**
 * Undoes xtext (RFC 3461 4), which belongs to the ORCPT parameter and not into a report, but is found there. In xtext
 * every `+` begins two hexadecimal digits, and an address needs it for `+` and `=` only; another plus stays what it is.
 */
function plainOf(address: string): string {
  const escapes = address.match(/\+[0-9A-F]{2}/g) ?? []
  const isXtext = escapes.length === address.split('+').length - 1 && escapes.some((escape) => /^\+(?:2B|3D|40)$/.test(escape))
  return isXtext ? address.replace(/\+([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))) : address
}
