import type { ReportPhrases } from './report-phrases.ts'

/** How a bounce's text mentions an address. Later kinds are stronger evidence of a failed recipient. */
export const mentionKinds = ['named', 'told', 'quoted', 'addressed', 'listed'] as const
/**
 * `named`: mentioned anywhere. `told`: in a sentence about failure. `quoted`: in a reply or command. `addressed`: after `To:`, which may be
 * the original's header. `listed`: in a list or field of recipients.
 */
type MentionKind = (typeof mentionKinds)[number]

export interface RecipientMention {
  address: string
  line: number
  kind: MentionKind
  /** The rest of its line or, if empty, a reason in front of it. */
  rest: string
}

const localPart = String.raw`(?:"[^"\s@]{1,64}"|[^\s<>()[\]"',:;|=\\：；，、。（）【】「」《》“”]{1,64})`
const domain = String.raw`(?:[\p{L}\p{N}](?:[\p{L}\p{N}_.-]{0,253}[\p{L}\p{N}])?|\[[0-9a-f.:]{3,45}\])`
const address = new RegExp(`${localPart}@${domain}`, 'giu')
/** Addresses in a row, separated by commas. */
const row = new RegExp(`${address.source}(?:[>"'\\])]{0,3}\\s?[,;]\\s{0,3}["'<]{0,2}${address.source})*`, 'giu')
const opening = String.raw`["'<([]{0,3}(?:mailto:|smtp:|rfc822;\s{0,3})?["'<([]{0,3}$`
const atBeginning = new RegExp(String.raw`^[\s>*•·|#\-–]{0,12}(?:\d{1,3}[.)]\s{1,4})?${opening}`, 'i')
/** A field name and colon right before an address. */
const label = new RegExp(String.raw`(?:^|[>*|,;.])\s{0,8}([^:：=|,;.>*@]{1,40}?)\s{0,4}[:：=]\s{0,8}${opening}`, 'iu')
const command = /\brcpt(?: to)?\s?[:=]?\s?[<[]?$/i
const reply = /(?:^|[^\d.])[45]\d\d[ \-#]|[45]\.\d{1,3}\.\d{1,3}/
/** Only a word or two, such as a protocol or a person's name, may come before it. */
const almostAlone = /^\W{0,12}(?:[\p{L}\p{N}.-]{1,30}\W{1,3}){0,2}$/u
/** Contact addresses. */
const role =
  /^(?:mailer-?daemon|postmaster|abuse|hostmaster|webmaster|no-?reply|help-?desk|support|spamreport|unblock|delist|removeme)@|^[^@]{1,60}-(?:owner|request|admin)@/i

/** Every address in a text, as written. */
export const addressesIn = (text: string): string[] => text.match(address) ?? []

/** Tells whether a text names another of these recipients (lower case) but not this one. Some systems fail all recipients for one. */
export function isOfAnother(recipients: ReadonlySet<string>): (text: string, address: string) => boolean {
  // Cached, because many recipients may share a text.
  const known = new Map<string, ReadonlySet<string>>()
  return (text, address) => {
    const named = known.get(text) ?? new Set(addressesIn(text.toLowerCase()).filter((each) => recipients.has(each)))
    known.set(text, named)
    return named.size > 0 && !named.has(address.toLowerCase())
  }
}

/** Every address in a line that may be a recipient. Addresses in a row count like the first, and what follows is about all of them. */
export function mentionsIn(line: string, index: number, phrases: ReportPhrases): RecipientMention[] {
  return Array.from(line.matchAll(row)).flatMap(({ 0: names, index: start }) => {
    const before = line.slice(0, start)
    const rest = line.slice(start + names.length)
    return addressesIn(names).flatMap((name) => {
      const kind = kindOf({ name, before, rest, line }, phrases)
      return kind === null ? [] : [{ address: name, line: index, kind, rest }]
    })
  })
}

function kindOf(
  { name, before, rest, line }: Record<'name' | 'before' | 'rest' | 'line', string>,
  phrases: ReportPhrases,
): MentionKind | null {
  const nearby = before.replace(/^.*@[^\s@]*/s, '').slice(-70)
  if (phrases.says(nearby, 'elsewhere') || /^>? (?:is|was) the (?:sender|administrator)/.test(rest)) return null
  if (command.test(before)) return 'quoted'
  const [, named = ''] = label.exec(before.slice(-100)) ?? []
  // Scripts without spaces have no last word.
  const fieldName = /^[\0-\x7f]*$/.test(named)
    ? (named
        .replace(/\(s\)$/, '')
        .split(/[\s-]/)
        .at(-1) ?? '')
    : named
  if (phrases.says(fieldName, 'toField') || /^original\b/i.test(named)) return 'addressed'
  if (phrases.says(fieldName, 'recipientField')) return reply.test(before) ? 'quoted' : 'listed'
  const isRole = role.test(name)
  if (atBeginning.test(before)) return isRole && rest.replace(/[>\s.]/g, '') === '' ? null : 'listed'
  if (isRole) return null
  if (reply.test(line)) return 'quoted'
  return phrases.says(line, 'notDelivered', 'later', 'ownReason', 'refusalSubject') || (almostAlone.test(before) && !/\p{L}/u.test(rest))
    ? 'told'
    : 'named'
}
