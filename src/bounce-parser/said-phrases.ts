import { firstWordsOf, patternOf } from './phrase-pattern.ts'
import { wordsOf } from './reply-words.ts'

/** What a text says, in the form that phrases are looked for in. */
export interface SaidWords {
  /** Each word between spaces. */
  spaced: string
  words: ReadonlySet<string>
}

/** The words of a text; `longest` in UTF-16 units. What fits `ignored` is left out. */
export function saidWords(text: string, longest?: number, ignored?: RegExp): SaidWords {
  const all = ` ${wordsOf(text, longest).join(' ')} `
  const spaced = ignored ? all.replace(ignored, '') : all
  return { spaced, words: new Set(spaced.split(' ')) }
}

/** True where a text says one of some phrases. */
export type Phrases = (said: SaidWords) => boolean

/** A pattern that is made when it is first asked for. */
type LatePattern = () => RegExp

/**
 * Looks for these phrases. Hundreds of patterns take long to make, and a text needs few of them: each is made for the first
 * text that has a word it begins with.
 */
export function phrasesOf(phrases: string[], terms: Record<string, string[]>): Phrases {
  let byFirstWord: Map<string, LatePattern[]> | undefined
  return ({ spaced, words }) => {
    byFirstWord ??= indexOf(phrases, terms)
    const patterns = new Set<LatePattern>()
    for (const [word, same] of byFirstWord) if (words.has(word)) for (const pattern of same) patterns.add(pattern)
    for (const pattern of patterns) if (pattern().test(spaced)) return true
    return false
  }
}

function indexOf(phrases: string[], terms: Record<string, string[]>): Map<string, LatePattern[]> {
  const byFirstWord = new Map<string, LatePattern[]>()
  for (const phrase of phrases) {
    let made: RegExp | undefined
    const pattern = (): RegExp => (made ??= patternOf([phrase], terms))
    for (const word of firstWordsOf(phrase, terms)) {
      const same = byFirstWord.get(word)
      if (same) same.push(pattern)
      else byFirstWord.set(word, [pattern])
    }
  }
  return byFirstWord
}
