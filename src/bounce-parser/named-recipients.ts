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

/** The lines of a report, with the place of each recipient in a list. */
interface Page {
  lines: readonly string[]
  listed: ReadonlySet<number>
  /** For each line, the last one above it with words and without a listed recipient; -1 where there is none. */
  above: readonly number[]
  /** Lines that introduce the recipients of a list, and so are not about the one before. */
  introductions: ReadonlySet<number>
}

/** Places where one recipient is mentioned, and lines from each on, that are read for a reason. */
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
  const page = pageOf(lines, new Set(mentions.filter(({ kind }) => kind === 'listed').map(({ line }) => line)))
  const isOther = isOfAnother(new Set(byAddress.keys()))
  return decisive.slice(0, mostRecipients).map(([, own]) => {
    const address = own[0]?.address ?? ''
    const blocks = blocksOf(own, page).filter((block) => block !== '' && !isOther(block, address))
    return { address, reason: [...new Set(blocks)].join(' | ').slice(0, longestBlocks) }
  })
}

const isEmpty = (line: string | undefined): boolean => (line ?? '').trim() === ''
const endsWithColon = (line: string | undefined): boolean => /[:：]$/.test(line ?? '')

/** A list is introduced by what ends with a colon, or by a line between an empty one and a recipient. */
function pageOf(lines: readonly string[], listed: ReadonlySet<number>): Page {
  const above: number[] = []
  const introductions = new Set<number>()
  let last = -1
  for (const [index, line] of lines.entries()) {
    above.push(last)
    const isIntroduction = endsWithColon(lines[last]) || (last === index - 1 && isEmpty(lines[last - 1]))
    if (listed.has(index) && isIntroduction) introductions.add(last)
    if (!listed.has(index) && !isEmpty(line)) last = index
  }
  return { lines, listed, above, introductions }
}

/** What is said where a recipient is mentioned, the most telling first. */
function blocksOf(own: RecipientMention[], page: Page): string[] {
  const ranked = own.toSorted((one, another) => weightOf(another) - weightOf(one) || one.line - another.line).slice(0, mostMentions)
  const isQuoted = ranked.some(({ kind }) => kind === 'quoted')
  return ranked.map((mention) => saidOf(mention, page) || (isQuoted ? '' : introductionOf(mention, page)))
}

/** What stands above a list of recipients, with a colon; else the line itself. */
function introductionOf({ line }: RecipientMention, { lines, above }: Page): string {
  const introduction = lines[above[line] ?? -1]
  return ((endsWithColon(introduction) ? introduction : lines[line]) ?? '').trim()
}

/** The rest of the line and the lines up to an empty one or the next recipient; of a quoted line all of it. */
function saidOf({ line, rest, kind }: RecipientMention, { lines, listed, introductions }: Page): string {
  const whole = lines[line] ?? ''
  const following = lines.slice(line + 1, line + mostLines)
  if (kind === 'quoted') {
    // A reply of several lines has its code on each; what stands behind a dialogue is no part of it.
    const isOfReply = (text: string): boolean => /^\W{0,6}[45]\d\d[ -]/.test(text) && (isDialogue(text) || !isDialogue(whole))
    const end = following.findIndex((text) => !isOfReply(text))
    return [whole, ...following.slice(0, end < 0 ? undefined : end)].map((text) => text.trim()).join(' ')
  }
  const said = [kind === 'listed' || kind === 'addressed' ? rest.replace(/^[>"'\])]{0,3}[:\s,.]{0,4}/, '') : whole]
  for (const [index, text] of following.entries()) {
    const at = line + 1 + index
    if (listed.has(at) || introductions.has(at) || (isEmpty(text) && said.some((each) => !isEmpty(each)))) break
    said.push(text.trim())
  }
  const dialogue = said.filter(isDialogue)
  return (dialogue.length > 0 ? dialogue : said).join(' ').trim()
}
