import { sentenceEnd, wordsOf } from './reply-words.ts'

/** A state of the automaton: how much of which phrases has matched. */
interface Place<Name> {
  /** The next states by word; created on demand. */
  next?: Map<string, Place<Name>[]>
  /** How many other words may come first. */
  gap: number
  /** The lists that have a phrase ending here. */
  ends: Name[]
}

const newPlace = <Name>(): Place<Name> => ({ gap: 0, ends: [] })

/** words */
const maxGap = 6

const pieces = /\(([^()$…]*)\)|\$(\w+)|…|[^()|$…]+/g
const isSimple = /^[a-z ]*$/

/** Most phrases contain plain words only and skip normalisation. */
const wordsIn = (piece: string): string[] => (isSimple.test(piece) ? piece.split(' ').filter((word) => word !== '') : wordsOf(piece))

/**
 * Searches a text for lists of phrases in one pass, word by word. The automaton is built once. In a phrase, `(a|b c|)` stands for any
 * alternative, `$name` for any of a list of terms, and `…` for up to six words of the same sentence.
 */
export class PhraseBook<Name> {
  readonly #start = newPlace<Name>()
  readonly #terms: Record<string, readonly string[]>

  /** @throws RangeError for an invalid phrase */
  constructor(lists: Iterable<readonly [Name, readonly string[]]>, terms: Record<string, readonly string[]> = {}) {
    this.#terms = terms
    const namesOf = new Map<string, Name[]>()
    for (const [name, phrases] of lists) for (const phrase of phrases) namesOf.set(phrase, [...(namesOf.get(phrase) ?? []), name])
    for (const [phrase, names] of namesOf) for (const end of this.#endsOf(phrase)) end.ends.push(...names)
  }

  /** The names of the lists that have a phrase in the text. */
  saidIn(words: readonly string[]): Set<Name> {
    const said = new Set<Name>()
    // For each state, how many words of its gap are left.
    let reached = new Map<Place<Name>, number>()
    for (const word of words) {
      const next = new Map<Place<Name>, number>()
      for (const [place, left] of reached) if (left > 0 && word !== sentenceEnd) next.set(place, left - 1)
      for (const from of [this.#start, ...reached.keys()])
        for (const place of from.next?.get(word) ?? []) {
          next.set(place, place.gap)
          for (const name of place.ends) said.add(name)
        }
      reached = next
    }
    return said
  }

  #endsOf(phrase: string): Place<Name>[] {
    let at = [this.#start]
    for (const [piece, alternatives, terms] of phrase.matchAll(pieces)) {
      if (piece === '…') for (const place of at) place.gap = maxGap
      else at = follow(at, alternatives?.split('|') ?? (terms ? this.#termsOf(terms) : [piece]))
    }
    const isBounded = this.#start.gap === 0 && at.every((place) => place !== this.#start && place.gap === 0)
    if (!isBounded || phrase.replace(pieces, '') !== '')
      throw new RangeError(`A phrase must begin and end with a word, and groups cannot be nested: ${phrase}`)
    return at
  }

  #termsOf(name: string): readonly string[] {
    const terms = this.#terms[name]
    if (!terms) throw new RangeError(`There is no list of terms "${name}".`)
    return terms
  }
}

/** Connects these states over each of the texts to one new state. A text without words leads nowhere. */
function follow<Name>(from: Place<Name>[], texts: readonly string[]): Place<Name>[] {
  const end = newPlace<Name>()
  const rows = texts.map(wordsIn)
  for (const words of rows) {
    let at = from
    for (const [index, word] of words.entries()) {
      const place = index === words.length - 1 ? end : newPlace<Name>()
      for (const each of at) {
        each.next ??= new Map()
        const known = each.next.get(word)
        if (known) known.push(place)
        else each.next.set(word, [place])
      }
      at = [place]
    }
  }
  const isOptional = rows.some((words) => words.length === 0)
  return rows.every((words) => words.length === 0) ? from : [end, ...(isOptional ? from : [])]
}
