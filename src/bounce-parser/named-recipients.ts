import { mostRecipients } from './feedback.ts'
import { isOfAnother, mentionKinds, mentionsIn, type RecipientMention } from './recipient-mentions.ts'
import type { ReportPhrases } from './report-phrases.ts'
import { isDialogue } from './smtp-transcript.ts'

/** A recipient that a report names, and what it says of them. */
export interface NamedRecipient {
  /** Null where nobody is named, and yet it is known whom the report is about. */
  address: string | null
  reason: string
}

/** Addresses in lower case. */
interface KnownAddresses {
  /** Of those who sent what came back, and of the system that reports. */
  others: ReadonlySet<string>
  /** Of those it was sent to, as far as that is known. */
  writtenTo: ReadonlySet<string>
  /** Of those who are known to have failed, however the text names them. */
  failed: ReadonlySet<string>
}

/** Places where one recipient is mentioned, and lines after each, that are read for a reason. */
const mostMentions = 6
const mostLines = 14
/** Characters of a reason, before what the mail systems themselves say of it is looked for. */
const longestBlocks = 4000

const weightOf = ({ kind }: RecipientMention): number => mentionKinds.indexOf(kind)

/**
 * Recipients that the lines of a report name, each with what is said of them: those of the most telling kind of mention
 * that there is. An address that just stands there counts only where it is known to have been written to.
 */
export function namedRecipients(
  lines: readonly string[],
  { others, writtenTo, failed }: KnownAddresses,
  phrases: ReportPhrases,
): NamedRecipient[] {
  const isCandidate = ({ address, kind }: RecipientMention): boolean =>
    !others.has(address.toLowerCase()) && (kind !== 'named' || writtenTo.has(address.toLowerCase()))
  const mentions = lines.flatMap((line, index) => mentionsIn(line, index, phrases)).filter(isCandidate)
  const highest = Math.max(...mentions.map(weightOf))
  const byAddress = Map.groupBy(mentions, ({ address }) => address.toLowerCase())
  const decisive = [...byAddress].filter(([address, own]) => failed.has(address) || own.some((mention) => weightOf(mention) === highest))
  const places = new Set(mentions.filter(({ kind }) => kind === 'listed').map(({ line }) => line))
  const isOther = isOfAnother(new Set(byAddress.keys()))
  return decisive.slice(0, mostRecipients).map(([, own]) => {
    const address = own[0]?.address ?? ''
    const blocks = blocksOf(own, lines, places).filter((block) => !isOther(block, address))
    return { address, reason: blocks.join(' | ').slice(0, longestBlocks) }
  })
}

/** What is said where a recipient is mentioned, the most telling first, each once. */
function blocksOf(own: RecipientMention[], lines: readonly string[], places: ReadonlySet<number>): string[] {
  const ranked = own.toSorted((one, another) => weightOf(another) - weightOf(one) || one.line - another.line).slice(0, mostMentions)
  const isQuoted = ranked.some(({ kind }) => kind === 'quoted')
  const blocks = ranked.map((mention) => saidOf(mention, lines, places) || (isQuoted ? '' : introductionOf(mention.line, lines, places)))
  return [...new Set(blocks)].filter((block) => block !== '')
}

/** The rest of the line and the lines up to an empty one or the next recipient; of a quoted line all of it. */
function saidOf({ line, rest, kind }: RecipientMention, lines: readonly string[], places: ReadonlySet<number>): string {
  const whole = lines[line] ?? ''
  if (kind === 'quoted') return [whole, ...repliesAfter(line, lines)].map((text) => text.trim()).join(' ')
  const behind = kind === 'listed' || kind === 'addressed' ? rest.replace(/^[>"'\])]{0,3}[:\s,.]{0,4}/, '') : whole
  const said = [behind, ...linesAfter(line, behind.trim() !== '', lines, places)]
  const dialogue = said.filter(isDialogue)
  return (dialogue.length > 0 ? dialogue : said).join(' ').trim()
}

/** What stands above a list of recipients, with a colon; else the line itself. */
function introductionOf(line: number, lines: readonly string[], places: ReadonlySet<number>): string {
  let first = line
  while (first > 0 && (places.has(first - 1) || isEmpty(lines, first - 1))) first--
  return ((/[:：]$/.test(lines[first - 1] ?? '') ? lines[first - 1] : lines[line]) ?? '').trim()
}

function linesAfter(line: number, hasWords: boolean, lines: readonly string[], places: ReadonlySet<number>): string[] {
  const said: string[] = []
  for (let at = line + 1; at < Math.min(lines.length, line + mostLines) && !places.has(at); at++) {
    const text = (lines[at] ?? '').trim()
    if (text === '' && (hasWords || said.join('') !== '')) break
    if (text !== '' && introducesNext(at, lines, places)) break
    said.push(text)
  }
  return said
}

const isEmpty = (lines: readonly string[], line: number): boolean => (lines[line] ?? '').trim() === ''

/** True for what ends with a colon before another recipient, and for a line between an empty one and a recipient. */
function introducesNext(line: number, lines: readonly string[], places: ReadonlySet<number>): boolean {
  let next = line + 1
  if (isEmpty(lines, line - 1) && places.has(next)) return true
  if (!/[:：]$/.test(lines[line] ?? '')) return false
  while (next < lines.length && isEmpty(lines, next)) next++
  return places.has(next)
}

/** A reply of several lines has its code on each; what stands behind a dialogue is no part of it. */
function repliesAfter(line: number, lines: readonly string[]): string[] {
  const isWithin = isDialogue(lines[line] ?? '')
  const following = lines.slice(line + 1, line + 6).concat('')
  return following.slice(
    0,
    following.findIndex((text) => !/^\W{0,6}[45]\d\d[ -]/.test(text) || (isWithin && !isDialogue(text))),
  )
}
