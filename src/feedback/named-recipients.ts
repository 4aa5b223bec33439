/** An address in the words of a report. */
interface Mention {
  address: string
  line: number
  /** 3: a list or a field names it as a recipient; 2: a reply or command holds it; 1: a sentence about failure; 0: else. */
  weight: number
  /** What follows it on its line. */
  rest: string
}

/** A recipient that a report names, and what it says of them. */
export interface NamedRecipient {
  address: string
  reason: string
}

const mostRecipients = 1000
const address = /(?:"[^"\s@]{1,64}"|[^\s<>()[\]"',:;|=\\]{1,64})@(?:[\p{L}\p{N}](?:[\p{L}\p{N}_.-]{0,253}[\p{L}\p{N}])?|\[[0-9a-f.:]{3,45}\])/giu
const listed = /^[\s>*•·|#\-–]{0,12}(?:\d{1,3}[.)]\s{1,4})?[<"'([]{0,3}(?:mailto:|smtp:|rfc822;\s?)?$/i
const fieldBefore =
  /(?:^|[\s>*|,;.])(?:(?:final|original|failed|intended|undeliverable|rejected|invalid|bad|actual|x-actual)?[- ]?(?:recipients?|addresse?e?s?|addressee|destination|rcpt|mailbox|user|e-?mail)(?:[- ]?(?:address|name|s|e-?mail|id|id's))?(?:\(s\))?|to|an|empfänger(?:adresse)?|destinataires?|destinatari[oa]s?|ontvangers?|получател[ья]|адрес|odbiorca|para|pour|aan|à|宛先|あて先|送信先|收件人|收件者|수신자|받는 ?사람)\s{0,4}[:：=]\s{0,8}(?:rfc822;\s{0,3}|smtp:|mailto:)?["'<([]{0,3}$/iu
const command = /(?:rcpt to|RCPT)\s?:?\s?<?$/i
const reply = /(?:^|[^\d.])[45]\d\d[ \-#]|[45]\.\d{1,3}\.\d{1,3}/
const about = /fail|deliver|reach|reject|refus|unknown|unable|could ?n.t|could not|cannot|can.t|not found|exist|full|quota|bounced|error|invalid|blocked|disabled|undeliv|not accept|denied|zustell|remis|entreg|consegn|bezorg|достав|dostar|不存在|退|送|届|配信|エラー/i
/** Lines that name somebody to turn to, or whom it came from. */
const other =
  /\b(?:contact|questions?|assistance|help(?:desk)?|support|administrator|report (?:this|it|abuse)|abuse|complain|webmaster|hostmaster|forward (?:this|it)|send (?:this|a|an|mail|e-?mail|your) .{0,40}\bto\b.{0,40}(?:postmaster|help|support)|unsubscribe|whitelist|from|sender|sent by|reply-to|return-path|mail from|received from|originator|absender|expéditeur|remitente|mittente|remetente|afzender|отправитель|message-id|in-reply-to|references|cc|bcc)\b[^@]{0,60}$/i
const mailSystems = /^(?:mailer-daemon|postmaster|abuse|hostmaster|noreply|no-reply|help-?desk|support|spamreport|unblock|delist|removeme|mailerdaemon|webmaster)@/i

/**
 * Recipients that the lines of a report name, each with what is said of them. Lists and fields of recipients count before
 * replies and commands, these before sentences, and these before an address that just stands there. `isOther` tells the
 * addresses that are known to be somebody else, such as the sender of what came back.
 */
export function namedRecipients(lines: readonly string[], isOther: (address: string) => boolean): NamedRecipient[] {
  const mentions = lines.flatMap((line, index) => mentionsIn(line, index)).filter((mention) => !isOther(mention.address))
  const weight = Math.max(-1, ...mentions.map((mention) => mention.weight))
  const decisive = mentions.filter((mention) => mention.weight === weight)
  const addresses = new Map(decisive.map((mention) => [mention.address.toLowerCase(), mention.address]))
  return [...addresses.entries()].slice(0, mostRecipients).map(([key, name]) => {
    const own = mentions.filter((mention) => mention.address.toLowerCase() === key)
    const ranked = own.toSorted((one, another) => another.weight - one.weight || one.line - another.line)
    return { address: name, reason: ranked.slice(0, 6).map((mention) => blockAfter(mention, lines, mentions)).filter(Boolean).join(' | ') }
  })
}

function mentionsIn(line: string, index: number): Mention[] {
  const found: Mention[] = []
  let end = 0
  for (const match of line.matchAll(address)) {
    const before = line.slice(0, match.index)
    const name = match[0].replace(/\.+$/, '')
    const rest = line.slice(match.index + match[0].length)
    const isList = found.length > 0 && found.at(-1)?.weight === 3 && /^[>"'\])]{0,3}\s?[,;]\s{0,3}["'<]{0,2}$/.test(line.slice(end, match.index))
    end = match.index + match[0].length
    found.push({ address: name, line: index, weight: isList ? 3 : weightOf(name, before, rest, line), rest })
  }
  return found.filter(({ weight }) => weight >= 0)
}

function weightOf(name: string, before: string, rest: string, line: string): number {
  if (other.test(before.slice(-120))) return -1
  if (/^>? (?:is|was) the (?:sender|administrator)/.test(rest)) return -1
  const isSystem = mailSystems.test(name)
  if (fieldBefore.test(before.slice(-80))) return 3
  if (listed.test(before)) return isSystem && rest.replace(/[>\s]/g, '') === '' ? -1 : 3
  if (isSystem) return -1
  if (command.test(before) || reply.test(line)) return 2
  return about.test(line) ? 1 : 0
}

/** What is said behind an address: the rest of its line and the lines up to an empty one or the next recipient. */
function blockAfter({ line, rest, weight }: Mention, lines: readonly string[], mentions: readonly Mention[]): string {
  if (weight === 2) return [lines[line] ?? '', ...continued(lines, line)].map((each) => each.trim()).join(' ')
  const said = [weight === 3 ? rest.replace(/^[>"'\])]{0,3}[:\s,.]{0,4}/, '') : (lines[line] ?? '')]
  const others = new Set(mentions.filter((mention) => mention.weight === 3 && mention.line !== line).map((mention) => mention.line))
  for (let at = line + 1; at < Math.min(lines.length, line + 14); at++) {
    const text = (lines[at] ?? '').trim()
    if (others.has(at)) break
    if (text === '' && said.join('').trim() !== '') break
    said.push(text)
  }
  return said.join(' ').trim()
}

/** A reply of several lines has its code on each. */
function continued(lines: readonly string[], from: number): string[] {
  const found: string[] = []
  for (let at = from + 1; at < lines.length && at < from + 6 && /^\W{0,6}[45]\d\d[ -]/.test(lines[at] ?? ''); at++) found.push(lines[at] ?? '')
  return found
}
