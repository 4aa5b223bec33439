import { wordsOf } from './reply-words.ts'

/** Up to six words of the same sentence. A word counts up to its fortieth character, so that a gap cannot be long. */
const gap = '(?: [^ .][^ ]{0,39}){0,6}?'

/**
 * A pattern for phrases over `spacedWords` of a text. In a phrase `(a|b c|)` stands for any of these, `…` for up to six
 * words, `$name` for a list of terms. Nothing else can be repeated, so that no text takes long. Throws RangeError for what
 * is no phrase.
 */
export function patternOf(phrases: string[], terms: Record<string, string[]>): RegExp {
  return new RegExp(`(?:${phrases.map((phrase) => sourceOf(phrase, terms)).join('|')})(?= )`)
}

/** The words of a text, each between spaces; `longest` in UTF-16 units. */
export const spacedWords = (text: string, longest?: number): string => ` ${wordsOf(text, longest).join(' ')} `

function sourceOf(phrase: string, terms: Record<string, string[]>): string {
  if (/^\s*…|…\s*$/.test(phrase)) throw new RangeError(`A phrase neither begins nor ends with a gap: ${phrase}`)
  return Array.from(phrase.matchAll(/[(|)…]|\$\w+|[^(|)…$]+/g), ([piece]) => {
    if (piece === '(') return '(?:'
    if (piece === '|' || piece === ')') return piece
    if (piece === '…') return gap
    if (piece.startsWith('$')) return termsSource(piece.slice(1), terms)
    return wordsSource(piece)
  }).join('')
}

/** Of each list of terms, made once: many rules name the same. */
const termsSources = new WeakMap<string[], string>()

function termsSource(name: string, terms: Record<string, string[]>): string {
  const found = terms[name]
  if (!found) throw new RangeError(`No terms are called ${name}.`)
  const source = termsSources.get(found) ?? `(?:${found.map(wordsSource).join('|')})`
  termsSources.set(found, source)
  return source
}

/** Words are letters and digits, an `@`, or a full stop. */
const wordsSource = (text: string): string =>
  wordsOf(text)
    .map((word) => ` ${word.replaceAll('.', String.raw`\.`)}`)
    .join('')
