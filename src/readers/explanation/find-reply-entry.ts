import type { BounceCategory, RefusalPhase } from '../../mail/bounce-parser/refusal.ts'
import { classifyRefusal } from '../../mail/bounce-vocabulary.ts'
import { replyEntries } from './reply-entries.ts'
import type { ReplyEntry } from './reply-entry.ts'

/** A failure that a server gave words to. */
export interface RefusedReply {
  code: number | null
  enhancedStatus: string | null
  /** With the codes in it, or without. */
  text: string
  /** Who runs the host, as `mxProviderOf` names it; null if that is not known. */
  provider: string | null
  phase: RefusalPhase | null
  /** What it was judged to be, if that is known; else it is judged by its words. */
  category?: BounceCategory | undefined
}

/** UTF-16 units read of a text, however long it is. */
const maxTextLength = 3000

/** What is known of this reply; undefined if nothing is. Takes time in proportion to the text, up to a limit. */
export function findReplyEntry(reply: RefusedReply): ReplyEntry | undefined {
  const words = wordsOf(reply)
  let judged = reply.category
  const isJudged = (category: BounceCategory): boolean => (judged ??= judge(reply, words)) === category
  return replyEntries.find(
    (entry) =>
      (entry.provider === undefined || entry.provider === reply.provider) &&
      (entry.code === undefined || hasCode(reply, entry.code)) &&
      (entry.phases === undefined || entry.phases.includes(reply.phase ?? 'report')) &&
      (entry.status === undefined || (reply.enhancedStatus !== null && entry.status.test(reply.enhancedStatus))) &&
      (entry.words === undefined || entry.words.test(words)) &&
      (entry.category === undefined || isJudged(entry.category)),
  )
}

function hasCode({ code }: RefusedReply, wanted: number | readonly number[]): boolean {
  if (code === null) return false
  return typeof wanted === 'number' ? wanted === code || wanted === Math.floor(code / 100) : wanted.includes(code)
}

const wordPart = String.raw`[^\s<>()[\]"',;:]`
/**
 * The addresses in a reply: of the recipient or the sender, and in the query of a link. They say nothing of the cause, whatever words are
 * in them, except that one of T-Online which its refusals name as the place to ask. Each part is tried from its beginning alone.
 */
const addresses = new RegExp(
  String.raw`(?<!${wordPart})(?!//|tosa@rx\.t-online)${wordPart}+@${wordPart}+|(?<=[=&?/])[^\s<>()[\]"',;:=&?/]+(?:@|%40)[^\s<>()[\]"',;:&]+`,
  'gi',
)
/** The names of hosts, as Postfix quotes them: of this server, and what its address leads to. */
const quotedNames = /<(?=[^<>\s/.]*\.)[^<>\s/]+>/g

/** The text on one line, without the codes that each line of a reply repeats, and with `@` for each address. */
function wordsOf({ code, enhancedStatus, text }: RefusedReply): string {
  let words = text.slice(0, maxTextLength)
  if (code !== null) words = words.replaceAll(new RegExp(String.raw`(?<![\w.])${code}[ -](?=\D|${String(code).charAt(0)}\.)`, 'g'), ' ')
  if (enhancedStatus !== null) words = words.replaceAll(`${enhancedStatus} `, ' ')
  return words.replaceAll(addresses, '@').replaceAll(quotedNames, '<@>').replaceAll(/\s+/g, ' ').trim()
}

const judge = ({ code, enhancedStatus }: RefusedReply, text: string): BounceCategory =>
  classifyRefusal({ code, enhancedStatus, text, remoteHost: null, phase: 'report' }).category
