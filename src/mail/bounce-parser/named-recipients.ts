import { maxRecipients } from './feedback.ts'
import { isOfAnother, mentionKinds, mentionsIn, type RecipientMention } from './recipient-mentions.ts'
import type { ReportPhrases } from './report-phrases.ts'
import { isDialogue } from './smtp-transcript.ts'

/** A recipient named in a bounce, and what the bounce says about it. */
export interface NamedRecipient {
  /** Null if the text names nobody, but the recipient is known. */
  address: string | null
  reason: string
}

/** Addresses in lower case. */
interface KnownAddresses {
  /** The original's senders, and the reporting system. */
  others: ReadonlySet<string>
  /** The original's recipients, if known. */
  writtenTo: ReadonlySet<string>
  /** Recipients known to have failed, however the text names them. */
  failed: ReadonlySet<string>
}

/** The lines of a bounce, and where its list of recipients is. */
interface Page {
  lines: readonly string[]
  listed: ReadonlySet<number>
  /** For each line, the nearest line above it that has words and lists no recipient; -1 if there is none. */
  above: readonly number[]
  /** Lines that introduce a list, and so are not about the recipient before it. */
  introductions: ReadonlySet<number>
}

/** Mentions of one recipient, and lines after each, searched for a reason. */
const maxMentions = 6
const maxLines = 14
/** Characters of a reason before the quoted reply is extracted. */
const maxBlocksLength = 4000

const weightOf = ({ kind }: RecipientMention): number => mentionKinds.indexOf(kind)

/**
 * The recipients that a bounce's lines name, each with what is said about it. Only the strongest kind of mention counts. A bare address
 * counts only if it is a known recipient of the original.
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
  return decisive.slice(0, maxRecipients).map(([, own]) => {
    const address = own[0]?.address ?? ''
    const blocks = blocksOf(own, page).filter((block) => block !== '' && !isOther(block, address))
    return { address, reason: [...new Set(blocks)].join(' | ').slice(0, maxBlocksLength) }
  })
}

const isEmpty = (line: string | undefined): boolean => (line ?? '').trim() === ''
const endsWithColon = (line: string | undefined): boolean => /[:：]$/.test(line ?? '')

/** A list is introduced by a line ending in a colon, or by a line between an empty one and a recipient. */
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

/** What is said at each mention of a recipient, the strongest mention first. */
function blocksOf(own: RecipientMention[], page: Page): string[] {
  const ranked = own.toSorted((one, another) => weightOf(another) - weightOf(one) || one.line - another.line).slice(0, maxMentions)
  const isQuoted = ranked.some(({ kind }) => kind === 'quoted')
  return ranked.map((mention) => saidOf(mention, page) || (isQuoted ? '' : introductionOf(mention, page)))
}

/** The line above a list of recipients if it ends in a colon; else the line itself. */
function introductionOf({ line }: RecipientMention, { lines, above }: Page): string {
  const introduction = lines[above[line] ?? -1]
  return ((endsWithColon(introduction) ? introduction : lines[line]) ?? '').trim()
}

/** The rest of the line, and the lines up to an empty one or the next recipient. For a quoted reply, all its lines. */
function saidOf({ line, rest, kind }: RecipientMention, { lines, listed, introductions }: Page): string {
  const whole = lines[line] ?? ''
  const following = lines.slice(line + 1, line + maxLines)
  if (kind === 'quoted') {
    // Each line of a multiline reply has the code. What follows a dialogue is not part of it.
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
