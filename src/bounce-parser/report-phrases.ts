import { PhraseBook } from './phrase-book.ts'
import { wordsOf } from './reply-words.ts'

/** The names of the lists that a text says something of. */
export type Said = ReadonlySet<string>

/** UTF-16 units of a report that are looked through for phrases. */
const longestReport = 16 * 1024

/** What reports say around the replies that they quote: the lists of config/report-phrases.json. */
export class ReportPhrases {
  readonly #names: ReadonlySet<string>
  readonly #phrases: PhraseBook<string>

  constructor(lists: Record<string, string[]>) {
    this.#names = new Set(Object.keys(lists))
    this.#phrases = new PhraseBook(Object.entries(lists))
  }

  saidIn(text: string): Said {
    return this.#phrases.saidIn(wordsOf(text, longestReport))
  }

  /** True where a text, or what was said in it, has something of one of these lists. Throws RangeError where there is no such list. */
  says(text: string | Said, ...names: string[]): boolean {
    const unknown = names.find((name) => !this.#names.has(name))
    if (unknown !== undefined) throw new RangeError(`No phrases are called ${unknown}.`)
    const said = typeof text === 'string' ? this.saidIn(text) : text
    return names.some((name) => said.has(name))
  }
}

/** What words say of a message as a whole; `failed` unless they say something else. */
export function saidAction(said: Said): 'failed' | 'delayed' | 'delivered' {
  if (said.has('later') && !said.has('givenUp')) return 'delayed'
  return said.has('arrived') && !said.has('notDelivered') ? 'delivered' : 'failed'
}
