import { readFileSync } from 'node:fs'
import { patternOf, spacedWords } from '../bounce/phrase-pattern.ts'

/** UTF-16 units of a report that are looked through for phrases. */
const longestReport = 16 * 1024

/** The lists of config/report-phrases.json, as patterns over `spacedWords`. */
type Patterns = Record<'notDelivered' | 'later' | 'givenUp' | 'arrived' | 'toReader' | 'ofReader', RegExp>

let compiled: Patterns | undefined

function patterns(): Patterns {
  if (compiled) return compiled
  const source = readFileSync(new URL('../../config/report-phrases.json', import.meta.url), 'utf8')
  compiled = compile(JSON.parse(source) as Record<keyof Patterns, string[]>)
  return compiled
}

const compile = ({ notDelivered, later, givenUp, arrived, toReader, ofReader }: Record<keyof Patterns, string[]>): Patterns => ({
  notDelivered: patternOf(notDelivered, {}),
  later: patternOf(later, {}),
  givenUp: patternOf(givenUp, {}),
  arrived: patternOf(arrived, {}),
  toReader: patternOf(toReader, {}),
  ofReader: patternOf(ofReader, {}),
})

/** True where words say that mail has not arrived, or not yet. */
export function saysNotDelivered(text: string): boolean {
  const words = spacedWords(text, longestReport)
  return patterns().notDelivered.test(words) || patterns().later.test(words)
}

/** True where words speak of the reader's own mailbox, or of mail to the reader, and not of mail that the reader sent. */
export function speaksToReader(text: string): boolean {
  const words = spacedWords(text, longestReport)
  return patterns().toReader.test(words) && !patterns().ofReader.test(words)
}

/** What words say of a message as a whole; `failed` unless they say something else. */
export function saidAction(text: string): 'failed' | 'delayed' | 'delivered' {
  const words = spacedWords(text, longestReport)
  const { notDelivered: failed, later: tried, givenUp: ended, arrived: done } = patterns()
  if (tried.test(words) && !ended.test(words)) return 'delayed'
  return done.test(words) && !failed.test(words) ? 'delivered' : 'failed'
}
