const addressType = /^\s*([A-Za-z0-9-]{1,40})\s*;/
const angled = /<([^<>]{1,1000})>/
const comment = /\s*\([^()]*\)\s*$/

/**
 * The address in a field such as Final-Recipient (RFC 3464 2.3.1, RFC 6533 3): decoded, without type, comments and angle brackets;
 * otherwise as written. Null if there is none.
 */
export function reportedAddress(value: string): string | null {
  const [prefix = '', type = ''] = addressType.exec(value) ?? []
  const text = value.slice(prefix.length, prefix.length + 2000).trim()
  const bare = angled.exec(text)?.[1] ?? text.replace(comment, '').replace(/^<|>$/g, '')
  const written = withoutRoute(addressIn(bare.trim()).replace(/^mailto:/i, ''))
  const address = type.toLowerCase() === 'utf-8' ? unicodeOf(written) : plainOf(written)
  // Some systems give only the host.
  return address === '' || address.startsWith('@') ? null : address
}

/** Per field, and in all. More are an attack. */
const maxAddresses = 100

/** The addresses in fields with address lists, without duplicates. */
export function reportedAddresses(values: readonly string[]): string[] {
  const addresses = values
    .flatMap((value) => value.split(',', maxAddresses))
    .map(reportedAddress)
    .filter((address) => address !== null)
  return [...new Set(addresses.filter((address) => address.includes('@')))].slice(0, maxAddresses)
}

/** Drops what some systems append: punctuation or a name. */
function addressIn(text: string): string {
  const word = text.startsWith('"') ? undefined : text.split(/\s+/).find((each) => each.includes('@'))
  return (word ?? text).replace(/[,;.]+$/, '')
}

/** Removes the route of `@a,@b:user@host` (RFC 5321 4.1.1.3). */
const withoutRoute = (address: string): string => address.replace(/^@[^:"]{1,500}:/, '')

/** Decodes the ASCII forms of RFC 6533 3: `\x{FC}`. */
const unicodeOf = (address: string): string =>
  address.replace(/\\x\{([0-9A-F]{2,6})\}/gi, (escape, hex: string) => {
    const point = parseInt(hex, 16)
    return point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff) ? String.fromCodePoint(point) : escape
  })

/**
 * Decodes xtext (RFC 3461 4). It belongs in ORCPT, not in a bounce, but occurs. In xtext every `+` introduces two hexadecimal digits, and
 * addresses need it only for `+` and `=`; any other plus is literal.
 */
function plainOf(address: string): string {
  const escapes = address.match(/\+[0-9A-F]{2}/g) ?? []
  const isXtext = escapes.length === address.split('+').length - 1 && escapes.some((escape) => /^\+(?:2B|3D|40)$/.test(escape))
  return isXtext ? address.replace(/\+([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))) : address
}
