/** How an address stands in the words of a report; the later, the more it is a recipient that failed. */
export const mentionKinds = ['named', 'told', 'quoted', 'addressed', 'listed'] as const
/**
 * `named`: it just stands there. `told`: in a sentence about failure. `quoted`: in a reply or a command. `addressed`: behind
 * `To:`, which may be the header of what came back. `listed`: in a list or a field of recipients.
 */
type MentionKind = (typeof mentionKinds)[number]

export interface RecipientMention {
  address: string
  line: number
  kind: MentionKind
  /** What follows it on its line, or, where nothing does, a reason that stands ahead of it. */
  rest: string
}

const localPart = String.raw`(?:"[^"\s@]{1,64}"|[^\s<>()[\]"',:;|=\\：；，、。（）【】「」《》“”]{1,64})`
const domain = String.raw`(?:[\p{L}\p{N}](?:[\p{L}\p{N}_.-]{0,253}[\p{L}\p{N}])?|\[[0-9a-f.:]{3,45}\])`
const address = new RegExp(`${localPart}@${domain}`, 'giu')
const opening = String.raw`["'<([]{0,3}(?:mailto:|smtp:|rfc822;\s{0,3})?["'<([]{0,3}$`
const atBeginning = new RegExp(String.raw`^[\s>*•·|#\-–]{0,12}(?:\d{1,3}[.)]\s{1,4})?${opening}`, 'i')
const field = (names: string[]): RegExp => new RegExp(String.raw`(?:^|[\s>*|,;.])(?:${names.join('|')})\s{0,4}[:：=]\s{0,8}${opening}`, 'iu')
const recipientField = field([
  '(?:final|failed|intended|undeliverable|rejected|invalid|bad|actual)?[- ]?' +
    '(?:recipients?|addresse?e?s?|addressee|destination|mailbox|user|e-?mail)' +
    String.raw`(?:[- ]?(?:address|name|s|e-?mail|id|id's))?(?:\(s\))?`,
  'empfänger(?:adresse)?|destinataires?|destinatari[oa]s?|ontvangers?|получател[ья]|адрес|odbiorca',
  '宛先|あて先|送信先|收件人|收件者|수신자|받는 ?사람',
])
const toField = field(['to|addressed to|original[- ](?:address|recipient)|an|para|pour|aan|à'])
const command = /\brcpt(?: to)?\s?[:=]?\s?[<[]?$/i
const reply = /(?:^|[^\d.])[45]\d\d[ \-#]|[45]\.\d{1,3}\.\d{1,3}/
const aboutFailure = new RegExp(
  [
    'fail|deliver|reach|exceed|reject|refus|unknown|unable|could ?n.t|could not|cannot|can.t|not found|exist|full|quota',
    'bounced|error|invalid|blocked|disabled|undeliv|not accept|denied|zustell|remis|entreg|consegn|recapit|bezorg',
    'zugestell|unbekannt|abgelehnt|abgewiesen|fehl|erreich|distribu|livr|inconnu|introuvable|rejet|échou|enviad|enviar|rechaz|devuelt',
    'inviat|rifiut|scono|recus|rejeit|devolvid|falh|afgelever|geweiger|onbekend|verzond|levere|toimit|teslim|doruč|kézbes|leveres|levert|iletile|παραδ|παράδ',
    'отправ|отклон|существ|неизвест|doręcz|wysła|odrzuc|nieznan|istnie',
    'достав|dostar|不存在|退|送|届|配信|配達|配送|エラー|반송|전송|배달|拒|失败|失敗|投递|投遞|無法|无法',
  ].join('|'),
  'i',
)
/** Says for itself why there is no delivery: `Unknown user: a@b.example`. */
export const ownReason = new RegExp(
  '(?:unknown|no such|delivery failed|exist|exceed|full|quota|not found|invalid|disabled|unbekannt|voll|inconnu|plein|sconosciut|piena' +
    '|desconoc|llen[oa]|chei[oa])[^@]*[:：][^@]*$',
  'i',
)
/** Three words or more, a colon and the address: `mailbox exceeds allowed size: a@b.example`. */
const sentenceAhead = new RegExp(String.raw`^\s{0,8}(?:[\p{L}\p{N}'’()-]{1,30}[ ,]{1,2}){2,12}[\p{L}\p{N}'’()-]{1,30}\s?[:：]\s{0,8}${opening}`, 'iu')
/** What comes before somebody to turn to, or whom it came from. */
const somebodyElse = new RegExp(
  String.raw`(?<![@.\w-])(?:${[
    'contact|questions?|assistance|help(?:desk)?|support|administrator|report (?:this|it|abuse)|abuse|complain',
    'webmaster|hostmaster|forward (?:this|it)',
    String.raw`send (?:this|a|an|mail|e-?mail|your) .{0,40}\bto\b.{0,40}(?:postmaster|help|support)|unsubscribe|whitelist|from`,
    'sender|sent by|reply-to|return-path|mail from|received from|originator|absender|expéditeur|remitente|mittente',
    'remetente|afzender|отправитель|message-id|in-reply-to|references|cc|bcc',
  ].join('|')})\b[^@]{0,60}$`,
  'i',
)
/** Where somebody is to be found instead (RFC 5321 3.4). */
const newAddress = new RegExp(
  String.raw`\b(?:please try|(?:has )?moved to(?: (?:new|another) address)?|new(?: e-?mail)? address(?: is)?|neue (?:e-?mail-)?adresse(?: ist| lautet)?` +
    String.raw`|nouvelle adresse(?: est)?|nueva direcci[oó]n(?: es)?|nuovo indirizzo(?: è)?|novo endereço(?: é)?|новый адрес)\s?[:=]?\s?["'<]?$`,
  'iu',
)
/** A word or two before it, such as the name of a protocol or a person. */
const almostAlone = /^\W{0,12}(?:[\p{L}\p{N}.-]{1,30}\W{1,3}){0,2}$/u
const behindCode = /(?:^|\s)[45]\d\d[ -](?:[45]\.\d{1,3}\.\d{1,3} )?<?$/
/** Somebody to turn to, unless a reply begins with them. */
const role = /^(?:mailer-?daemon|postmaster|abuse|hostmaster|webmaster|no-?reply|help-?desk|support|spamreport|unblock|delist|removeme)@|^[^@]{1,60}-(?:owner|request|admin)@/i

/** Every address in a text, as written. */
export const addressesIn = (text: string): string[] => text.match(address) ?? []

/** True where a text names others of these recipients, who are in lower case, and not this one: some systems fail all for one. */
export function isOfAnother(text: string, address: string, recipients: ReadonlySet<string>): boolean {
  const named = addressesIn(text.toLowerCase()).filter((each) => recipients.has(each))
  return named.length > 0 && !named.includes(address.toLowerCase())
}

/** Every address in a line that may be a recipient. */
export function mentionsIn(line: string, index: number): RecipientMention[] {
  const rows: RecipientMention[][] = []
  let end = 0
  for (const match of line.matchAll(address)) {
    const row = rows.at(-1)
    const continues = row?.at(-1)?.kind === 'listed' && /^[>"'\])]{0,3}\s?[,;]\s{0,3}["'<]{0,2}$/.test(line.slice(end, match.index))
    end = match.index + match[0].length
    const mention = continues ? mentionOf('listed', match[0], line.slice(end), index) : mentionAt(match[0], line, match.index, index)
    if (!mention) continue
    if (row && continues) row.push(mention)
    else rows.push([mention])
  }
  // What follows a row of recipients is said of all of them.
  return rows.flatMap((row) => row.map((mention) => ({ ...mention, rest: row.at(-1)?.rest ?? '' })))
}

const mentionOf = (kind: MentionKind, name: string, rest: string, line: number): RecipientMention => ({ address: name, line, kind, rest })

function mentionAt(name: string, line: string, start: number, index: number): RecipientMention | null {
  const before = line.slice(0, start)
  const rest = line.slice(start + name.length)
  const kind = kindOf(name, before, rest, line)
  if (kind === 'told' && isReason(before, rest)) return mentionOf('listed', name, before, index)
  return kind && mentionOf(kind, name, rest, index)
}

const isReason = (before: string, rest: string): boolean => !/[^>"'\])\s.,]/.test(rest) && ownReason.test(before) && sentenceAhead.test(before)

function kindOf(name: string, before: string, rest: string, line: string): MentionKind | null {
  if (somebodyElse.test(before.slice(-120)) || newAddress.test(before.slice(-60)) || /^>? (?:is|was) the (?:sender|administrator)/.test(rest)) return null
  if (command.test(before)) return 'quoted'
  if (toField.test(before.slice(-80))) return 'addressed'
  if (recipientField.test(before.slice(-80))) return reply.test(before) ? 'quoted' : 'listed'
  const isRole = role.test(name)
  if (atBeginning.test(before)) return isRole && rest.replace(/[>\s.]/g, '') === '' ? null : 'listed'
  if (isRole) return behindCode.test(before) ? 'quoted' : null
  if (reply.test(line)) return 'quoted'
  return aboutFailure.test(line) || (almostAlone.test(before) && !/\p{L}/u.test(rest)) ? 'told' : 'named'
}
