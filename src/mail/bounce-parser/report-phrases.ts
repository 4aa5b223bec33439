import { PhraseBook } from './phrase-book.ts'
import { wordsOf } from './reply-words.ts'

/** The names of the lists that match a text. */
export type Said = ReadonlySet<string>

/** UTF-16 units of a bounce searched for phrases. */
const maxReportLength = 16 * 1024

/** The phrases that bounces put around the replies they quote: the lists of `config/report-phrases.json`. */
export class ReportPhrases {
  readonly #names: ReadonlySet<string>
  readonly #phrases: PhraseBook<string>

  constructor(lists: Record<string, string[]>) {
    this.#names = new Set(Object.keys(lists))
    this.#phrases = new PhraseBook(Object.entries(lists))
  }

  saidIn(text: string): Said {
    return this.#phrases.saidIn(wordsOf(text, maxReportLength))
  }

  /** True if a text, or its matches, has a phrase of one of these lists. Throws RangeError for an unknown list. */
  says(text: string | Said, ...names: string[]): boolean {
    const unknown = names.find((name) => !this.#names.has(name))
    if (unknown !== undefined) throw new RangeError(`There is no list of phrases "${unknown}".`)
    const said = typeof text === 'string' ? this.saidIn(text) : text
    return names.some((name) => said.has(name))
  }
}

/** What the words say about the message as a whole; `failed` by default. */
export function saidAction(said: Said): 'failed' | 'delayed' | 'delivered' {
  if (said.has('later') && !said.has('givenUp')) return 'delayed'
  return said.has('arrived') && !said.has('notDelivered') ? 'delivered' : 'failed'
}
