const lowered = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

/** A pattern for `lower(…) like … escape '!'` that finds a text anywhere. `lower` changes ASCII only, on both engines, and so does this. */
export const partPattern = (text: string): string => `%${escaped(lowered(text))}%`

/** The same for a text that ends like this. */
export const endPattern = (text: string): string => `%${escaped(lowered(text))}`

const escaped = (text: string): string => text.replace(/[!%_]/g, '!$&')

/**
 * Patterns that together find a text whatever its case, as people write it: in small letters, in capitals, or with the first one a capital.
 * One is enough for ASCII; the others are then empty.
 */
export function anyCasePatterns(text: string): [string, string, string] {
  const [first = '', ...others] = text.toLowerCase()
  const [small, ...more] = new Set([first + others.join(''), text.toUpperCase(), first.toUpperCase() + others.join('')].map(partPattern))
  return [small ?? '', more[0] ?? '', more[1] ?? '']
}
