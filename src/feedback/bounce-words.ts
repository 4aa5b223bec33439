import { readFileSync } from 'node:fs'
import { phrasesOf, saidWords } from '../bounce/said-phrases.ts'
import type { Phrases, SaidWords } from '../bounce/said-phrases.ts'

/** UTF-16 units of a report that are looked through for phrases. */
const longestReport = 16 * 1024

/** The lists of config/report-phrases.json. */
const listNames = ['notDelivered', 'later', 'givenUp', 'arrived', 'toReader', 'held', 'notMail', 'ofMail', 'ofReader'] as const
type Lists<T> = Record<(typeof listNames)[number], T>

let prepared: Lists<Phrases> | undefined

function lists(): Lists<Phrases> {
  prepared ??= prepare(JSON.parse(readFileSync(new URL('../../config/report-phrases.json', import.meta.url), 'utf8')) as Lists<string[]>)
  return prepared
}

const prepare = (source: Lists<string[]>): Lists<Phrases> =>
  Object.fromEntries(listNames.map((name) => [name, phrasesOf(source[name], {})])) as Lists<Phrases>

/** The words of a report, made once for all that is asked of them. */
export const reportWords = (text: string): SaidWords => saidWords(text, longestReport)

/** True where words say that mail has not arrived, or not yet. */
export const saysNotDelivered = (words: SaidWords): boolean => lists().notDelivered(words) || lists().later(words)

/** True where words speak of the reader's own mailbox, or of mail to the reader, and not of mail that the reader sent. */
export const speaksToReader = (words: SaidWords): boolean => lists().toReader(words) && !lists().ofReader(words)

/** True where words say that somebody has yet to decide about the mail. */
export const saysHeld = (words: SaidWords): boolean => lists().held(words)

/** True where words are about parcels, payments and the like, whose delivery fails too, and not about mail. */
export function isAboutOtherThings(words: SaidWords): boolean {
  const { notMail, ofMail, ofReader } = lists()
  return notMail(words) && !ofMail(words) && !ofReader(words)
}

/** What words say of a message as a whole; `failed` unless they say something else. */
export function saidAction(words: SaidWords): 'failed' | 'delayed' | 'delivered' {
  const { notDelivered, later, givenUp, arrived } = lists()
  if (later(words) && !givenUp(words)) return 'delayed'
  return arrived(words) && !notDelivered(words) ? 'delivered' : 'failed'
}
