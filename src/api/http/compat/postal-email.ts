import { z } from 'zod'
import type { RecipientType } from '../../../mail/message/envelope.ts'
import { labelTag } from '../../../mail/message/send-limits.ts'
import { distinctAddresses } from '../../../platform/smtp/address.ts'
import { refusal, validate } from '../../operation/validate.ts'
import { harmless, isNothing, listOf, recordOf } from './compat-schema.ts'
import {
  faultAt,
  mailboxList,
  renamed,
  withoutOwnSender,
  type CompatFault,
  type NativeEmail,
  type NativeMailbox,
  type Renames,
} from './native-email.ts'

const addressText = z.string().max(1000)
/** Postal takes an array; a single address means the same. */
const addresses = z.union([listOf(addressText), addressText.transform((text) => [text])], { error: 'must be an array of addresses' })

const attachment = z.looseObject({ name: z.string(), content_type: z.string().nullish(), data: z.string() })

const notABounce = harmless(isNothing, 'is not supported: bounces are not sent over this API')

const messageSchema = z.looseObject({
  to: addresses.nullish(),
  cc: addresses.nullish(),
  bcc: addresses.nullish(),
  from: addressText.nullish(),
  sender: addressText.nullish(),
  subject: z.string().nullish(),
  reply_to: addressText.nullish(),
  plain_body: z.string().nullish(),
  html_body: z.string().nullish(),
  tag: z.string().nullish(),
  headers: recordOf(z.string()).nullish(),
  attachments: listOf(attachment, 100).nullish(),
  bounce: notABounce,
})

type PostalMessage = z.output<typeof messageSchema>

/**
 * An email in Postal's form, for `send/message`. `tag` becomes a tag (see `labelTag`). A `sender` that is not the author becomes the field
 * Sender. Like Postal, it passes over members that it does not know.
 * @throws SternaError with faults that name the members of Postal's body
 */
export function fromPostal(body: unknown): NativeEmail {
  const given = validate(messageSchema, body)
  const faults: CompatFault[] = []
  const from = given.from ? mailboxList(given.from, 'from', faults) : []
  if (!given.from) faults.push({ ...faultAt('from', 'missing', 'The `from` field is missing.'), error: 'missing_required_field' })
  if (from.length > 1) faults.push(faultAt('from', 'invalid_email', 'The `from` field must have exactly one address.'))
  const list = (name: RecipientType): NativeMailbox[] => (given[name] ?? []).flatMap((text) => mailboxList(text, name, faults))
  const [to, cc, bcc] = [list('to'), list('cc'), list('bcc')]
  const replyTo = given.reply_to ? mailboxList(given.reply_to, 'reply_to', faults) : []
  const headers = headersOf(given, from[0], faults)
  if (faults.length > 0) throw refusal(faults)
  return withoutOwnSender({
    from: from[0],
    to,
    ...(cc.length > 0 ? { cc } : {}),
    ...(bcc.length > 0 ? { bcc } : {}),
    ...(replyTo.length > 0 ? { reply_to: replyTo } : {}),
    ...(given.subject ? { subject: given.subject } : {}),
    ...(given.html_body ? { html: given.html_body } : {}),
    ...(given.plain_body ? { text: given.plain_body } : {}),
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(given.tag ? { tags: [labelTag(given.tag)] } : {}),
    ...(given.attachments ? { attachments: given.attachments.map(attachmentOf) } : {}),
  })
}

function headersOf({ headers, sender }: PostalMessage, from: NativeMailbox | undefined, faults: CompatFault[]): Record<string, string> {
  const [one, second] = sender ? mailboxList(sender, 'sender', faults) : []
  if (second) faults.push(faultAt('sender', 'invalid_email', 'The `sender` field must have exactly one address.'))
  const isOther = one && one.email.toLowerCase() !== from?.email.toLowerCase()
  return { ...headers, ...(isOther && sender ? { Sender: sender } : {}) }
}

const attachmentOf = ({ name, content_type: type, data }: z.output<typeof attachment>) => ({
  filename: name,
  content: data,
  ...(type ? { content_type: type } : {}),
})

const rawSchema = z.looseObject({
  rcpt_to: listOf(addressText).pipe(z.array(z.string()).min(1)),
  mail_from: addressText,
  data: z.string().min(1),
  bounce: notABounce,
})

/**
 * A raw message for `send/raw`. `mail_from` has to be there, as with Postal, and counts for nothing: bounces come to this server.
 * @throws SternaError as `fromPostal`
 */
export function fromPostalRaw(body: unknown): { recipients: string[]; content: Buffer } {
  const { rcpt_to: given, mail_from: mailFrom, data } = validate(rawSchema, body)
  const faults: CompatFault[] = []
  mailboxList(mailFrom, 'mail_from', faults)
  const recipients = given.flatMap((text) => mailboxList(text, 'rcpt_to', faults).map(({ email }) => email))
  if (faults.length > 0) throw refusal(faults)
  return { recipients: distinctAddresses(recipients), content: Buffer.from(data, 'base64') }
}

const renames: Renames = [
  [/^(from|to|cc|bcc)\..*$/, '$1'],
  [/^html$/, 'html_body'],
  [/^text$/, 'plain_body'],
  [/^tags.*$/, 'tag'],
  [/^attachments\.(\d+)\.filename$/, 'attachments.$1.name'],
  [/^attachments\.(\d+)\.content$/, 'attachments.$1.data'],
]

/** What Postal calls a field of the API. */
export const postalField = (field: string): string => renamed(field, renames)
