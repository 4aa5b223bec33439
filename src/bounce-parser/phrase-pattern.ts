import { wordsOf } from './reply-words.ts'

/** Up to six words of the same sentence. A word counts up to its fortieth character, so that a gap cannot be long. */
const gap = '(?: [^ .][^ ]{0,39}){0,6}?'

const pieces = /[(|)…]|\$\w+|[^(|)…$]+/g

/**
 * A pattern for phrases over the words of a text, each between spaces. In a phrase `(a|b c|)` stands for any of these, `…` for up to six
 * words, `$name` for a list of terms. Nothing else can be repeated, so that no text takes long. Throws RangeError for what
 * is no phrase.
 */
export function patternOf(phrases: string[], terms: Record<string, string[]>): RegExp {
  return new RegExp(`(?:${phrases.map((phrase) => sourceOf(phrase, terms)).join('|')})(?= )`)
}

/**
 * The words that a phrase can begin with; a text that has none of them does not say it. Throws RangeError where it begins with
 * something that may be missing, which says nothing there.
 */
export function firstWordsOf(phrase: string, terms: Record<string, string[]>): string[] {
  const [, alternatives] = /^\(([^()]*)\)/.exec(phrase) ?? []
  const beginnings = alternatives?.split('|') ?? [phrase]
  return beginnings.flatMap((beginning) => {
    const [piece = ''] = beginning.match(pieces) ?? []
    const words = piece.startsWith('$') ? prepared(piece.slice(1), terms).first : wordsOf(piece).slice(0, 1)
    if (words.length === 0) throw new RangeError(`A phrase begins with a word: ${phrase}`)
    return words
  })
}

function sourceOf(phrase: string, terms: Record<string, string[]>): string {
  if (/^\s*…|…\s*$/.test(phrase)) throw new RangeError(`A phrase neither begins nor ends with a gap: ${phrase}`)
  return Array.from(phrase.matchAll(pieces), ([piece]) => {
    if (piece === '(') return '(?:'
    if (piece === '|' || piece === ')') return piece
    if (piece === '…') return gap
    if (piece.startsWith('$')) return prepared(piece.slice(1), terms).source
    return wordsSource(piece)
  }).join('')
}

interface PreparedTerms {
  source: string
  first: string[]
}

/** Of each list of terms, made once: many rules name the same. */
const preparedTerms = new WeakMap<string[], PreparedTerms>()

function prepared(name: string, terms: Record<string, string[]>): PreparedTerms {
  const list = terms[name]
  if (!list) throw new RangeError(`No terms are called ${name}.`)
  const known = preparedTerms.get(list)
  if (known) return known
  const first = new Set(list.flatMap((term) => wordsOf(term).slice(0, 1)))
  const made = { source: `(?:${list.map(wordsSource).join('|')})`, first: [...first] }
  preparedTerms.set(list, made)
  return made
}

/** Words are letters and digits, an `@`, or a full stop. */
const wordsSource = (text: string): string =>
  wordsOf(text)
    .map((word) => ` ${word.replaceAll('.', String.raw`\.`)}`)
    .join('')
