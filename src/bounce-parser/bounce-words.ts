import { readFileSync } from 'node:fs'
import { phrasesOf, saidWords, type Phrases, type SaidWords } from './said-phrases.ts'

/** UTF-16 units of a report that are looked through for phrases. */
const longestReport = 16 * 1024

/** The lists of config/report-phrases.json. */
type ListName =
  | 'notDelivered'
  | 'later'
  | 'givenUp'
  | 'arrived'
  | 'toReader'
  | 'held'
  | 'notMail'
  | 'ofMail'
  | 'ofReader'
  | 'mailSystem'
  | 'reportingSystem'
  | 'reportSubject'
  | 'refusalSubject'
  | 'otherProgram'
  | 'readerSubject'
  | 'mailProgram'
  | 'answer'
  | 'challenge'
  | 'original'
  | 'follows'
  | 'recipientField'
  | 'toField'
  | 'elsewhere'
  | 'ownReason'

let prepared: Record<ListName, Phrases> | undefined

function lists(): Record<ListName, Phrases> {
  prepared ??= prepare(
    JSON.parse(readFileSync(new URL('../../config/report-phrases.json', import.meta.url), 'utf8')) as Record<ListName, string[]>,
  )
  return prepared
}

const prepare = (source: Record<ListName, string[]>): Record<ListName, Phrases> =>
  Object.fromEntries(Object.entries(source).map(([name, phrases]) => [name, phrasesOf(phrases, {})])) as Record<ListName, Phrases>

/** The words of a report, made once for all that is asked of them. */
export const reportWords = (text: string): SaidWords => saidWords(text, longestReport)

/** True where a text says something of one of these lists. */
export function says(text: string | SaidWords, ...names: ListName[]): boolean {
  const words = typeof text === 'string' ? reportWords(text) : text
  return names.some((name) => lists()[name](words))
}

/** The words of who sent a message, without the name of a host. */
export const senderWords = (from: string): SaidWords => reportWords(from.slice(0, 500).replace(/@[^>\s]*/g, ' '))

/** True where words say that mail has not arrived, or not yet. */
export const saysNotDelivered = (words: SaidWords): boolean => says(words, 'notDelivered', 'later')

/** True where words speak of the reader's own mailbox, or of mail to the reader, and not of mail that the reader sent. */
export const speaksToReader = (words: SaidWords): boolean => says(words, 'toReader') && !says(words, 'ofReader')

/** True where words are about parcels, payments and the like, whose delivery fails too, and not about mail. */
export const isAboutOtherThings = (words: SaidWords): boolean => says(words, 'notMail') && !says(words, 'ofMail', 'ofReader')

/** What words say of a message as a whole; `failed` unless they say something else. */
export function saidAction(words: SaidWords): 'failed' | 'delayed' | 'delivered' {
  if (says(words, 'later') && !says(words, 'givenUp')) return 'delayed'
  return says(words, 'arrived') && !says(words, 'notDelivered') ? 'delivered' : 'failed'
}
