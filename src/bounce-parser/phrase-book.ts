import { sentenceEnd, wordsOf } from './reply-words.ts'

/** How far a text has come within phrases. */
interface Place<Name> {
  /** Where each word leads that may follow; made with the first one. */
  next?: Map<string, Place<Name>[]>
  /** How many other words may stand before it. */
  gap: number
  /** The lists that have a phrase which ends here. */
  ends: Name[]
}

const newPlace = <Name>(): Place<Name> => ({ gap: 0, ends: [] })

/** The longest gap in a phrase, in words. */
const longestGap = 6

const pieces = /\(([^()$…]*)\)|\$(\w+)|…|[^()|$…]+/g
const isSimple = /^[a-z ]*$/

/** Most phrases are written as they are read, and need no reading again. */
const wordsIn = (piece: string): string[] => (isSimple.test(piece) ? piece.split(' ').filter((word) => word !== '') : wordsOf(piece))

/**
 * Lists of phrases, all of which a text is searched for at once, word by word: an automaton, made once. In a phrase `(a|b c|)`
 * stands for any of these, `$name` for one of a list of terms, and `…` for up to six words of the same sentence.
 */
export class PhraseBook<Name> {
  readonly #start = newPlace<Name>()
  readonly #terms: Record<string, readonly string[]>

  /** @throws RangeError for what is no phrase */
  constructor(lists: Iterable<readonly [Name, readonly string[]]>, terms: Record<string, readonly string[]> = {}) {
    this.#terms = terms
    const namesOf = new Map<string, Name[]>()
    for (const [name, phrases] of lists) for (const phrase of phrases) namesOf.set(phrase, [...(namesOf.get(phrase) ?? []), name])
    for (const [phrase, names] of namesOf) for (const end of this.#endsOf(phrase)) end.ends.push(...names)
  }

  /** The names of the lists of which a text says something. */
  saidIn(words: readonly string[]): Set<Name> {
    const said = new Set<Name>()
    // With how many words of a gap are left at each place.
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
      if (piece === '…') for (const place of at) place.gap = longestGap
      else at = follow(at, alternatives?.split('|') ?? (terms ? this.#termsOf(terms) : [piece]))
    }
    const isBounded = this.#start.gap === 0 && at.every((place) => place !== this.#start && place.gap === 0)
    if (!isBounded || phrase.replace(pieces, '') !== '')
      throw new RangeError(`A phrase begins and ends with a word, and has no group within a group: ${phrase}`)
    return at
  }

  #termsOf(name: string): readonly string[] {
    const terms = this.#terms[name]
    if (!terms) throw new RangeError(`No terms are called ${name}.`)
    return terms
  }
}

/** Leads from these places over each of some texts to one place behind them all, which is none behind a text without words. */
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
