import { z } from 'zod'
import { labelTag } from '../../../mail/message/send-limits.ts'
import { refusal, validate } from '../../operation/validate.ts'
import { harmless, isNothing, listOf, recordOf } from './compat-schema.ts'
import {
  faultAt,
  mailboxList,
  renamed,
  withoutOwnSender,
  type CompatFault,
  type NativeAttachment,
  type NativeEmail,
  type Renames,
} from './native-email.ts'

const attachment = z.strictObject({
  Name: z.string(),
  Content: z.string(),
  ContentType: z.string().nullish(),
  ContentID: z.string().nullish(),
  ContentLength: z.int().nullish(),
  Disposition: z.enum(['attachment', 'inline']).nullish(),
})

/** Long enough for the fifty recipients that an email may have. */
const addressList = z.string().max(20_000)

const common = {
  From: addressList,
  To: addressList.nullish(),
  Cc: addressList.nullish(),
  Bcc: addressList.nullish(),
  ReplyTo: addressList.nullish(),
  Tag: z.string().nullish(),
  TrackOpens: z.boolean().nullish(),
  TrackLinks: z.enum(['None', 'HtmlAndText', 'HtmlOnly', 'TextOnly']).nullish(),
  Headers: listOf(z.strictObject({ Name: z.string(), Value: z.string() }), 100).nullish(),
  Metadata: recordOf(z.string()).nullish(),
  Attachments: listOf(attachment, 100).nullish(),
  MessageStream: harmless((value) => isNothing(value) || value === 'outbound', 'must be outbound: there are no other streams'),
}

const emailSchema = z.strictObject({
  ...common,
  Subject: z.string().nullish(),
  HtmlBody: z.string().nullish(),
  TextBody: z.string().nullish(),
})

const templatedSchema = z.strictObject({
  ...common,
  TemplateId: z.union([z.string(), z.number()], { error: 'must be the id of a template' }).nullish(),
  TemplateAlias: z.string().nullish(),
  TemplateModel: recordOf(z.unknown()),
  InlineCss: z.boolean().nullish(),
})

type Common = Omit<z.output<typeof emailSchema>, 'Subject' | 'HtmlBody' | 'TextBody'>

/**
 * An email in Postmark's form, for `/email` and `/email/batch`.
 *
 * `Tag` becomes a tag (see `labelTag`). `TrackLinks` turns the tracking of clicks on or off, in html alone. The
 * one stream is `outbound`. Of no effect, and taken: `ContentLength`, a `Disposition` (a ContentID alone makes a
 * file inline), and headers that are of the message as its client built it.
 *
 * @throws SternaError with faults that name the members of Postmark's body
 */
export function fromPostmark(body: unknown): NativeEmail {
  const given = validate(emailSchema, body)
  const { Subject: subject, HtmlBody: html, TextBody: text } = given
  return { ...commonFields(given), ...(subject ? { subject } : {}), ...(html ? { html } : {}), ...(text ? { text } : {}) }
}

/**
 * The same for `/email/withTemplate` and `/email/batchWithTemplates`. The model's members are the template's variables.
 * `InlineCss` is taken and has no effect: styles stay where the template has them.
 * @throws SternaError as `fromPostmark`
 */
export function fromPostmarkTemplate(body: unknown): NativeEmail {
  const given = validate(templatedSchema, body)
  const { TemplateId: number, TemplateAlias: alias, TemplateModel: variables } = given
  const id = number === null || number === undefined || number === '' ? alias : String(number)
  if (!id)
    throw refusal([faultAt('TemplateAlias', 'missing', 'The `TemplateAlias` field is missing, and there is no `TemplateId` either.')])
  return { ...commonFields(given), template: { id, variables } }
}

function commonFields(given: Common): NativeEmail {
  const faults: CompatFault[] = []
  const list = (text: string | null | undefined, field: string) => (text ? mailboxList(text, field, faults) : undefined)
  const from = list(given.From, 'From') ?? []
  const recipients = { to: list(given.To, 'To') ?? [], cc: list(given.Cc, 'Cc'), bcc: list(given.Bcc, 'Bcc') }
  const replyTo = list(given.ReplyTo, 'ReplyTo')
  if (from.length > 1 || given.From === '') {
    faults.push({ ...faultAt('From', 'invalid_email', 'The `From` field must have exactly one address.'), error: 'invalid_from_address' })
  }
  const { cc, bcc, to } = recipients
  if (!given.To && !given.Cc && !given.Bcc) faults.push(faultAt('To', 'missing', 'The `To` field names nobody.'))
  const headers = headersOf(given.Headers ?? [], faults)
  if (faults.length > 0) throw refusal(faults)
  return withoutOwnSender({
    from: from[0],
    to,
    ...(cc ? { cc } : {}),
    ...(bcc ? { bcc } : {}),
    ...(replyTo ? { reply_to: replyTo } : {}),
    ...(headers ? { headers } : {}),
    ...(given.Tag ? { tags: [labelTag(given.Tag)] } : {}),
    ...(given.Metadata ? { metadata: given.Metadata } : {}),
    ...(given.Attachments ? { attachments: given.Attachments.map(attachmentOf) } : {}),
    ...trackingOf(given),
  })
}

function headersOf(given: { Name: string; Value: string }[], faults: CompatFault[]): Record<string, string> | undefined {
  const seen = new Set<string>()
  for (const [place, { Name: name }] of given.entries()) {
    if (seen.has(name.toLowerCase()))
      faults.push(faultAt(`Headers.${place}.Name`, 'invalid_value', `The header \`${name}\` is given twice.`))
    seen.add(name.toLowerCase())
  }
  const isKeepIdField = (name: string): boolean => /^x-pm-keepid$/i.test(name)
  const keepsId = given.some(({ Name, Value }) => isKeepIdField(Name) && /^true$/i.test(Value.trim()))
  if (keepsId && seen.has('message-id')) {
    const message = 'The `Message-ID` cannot be kept: every message gets one of this server. Leave out X-PM-KeepID.'
    faults.push({ ...faultAt('Headers', 'unsupported_field', message), error: 'unsupported_field' })
  }
  const kept = given.filter(({ Name }) => !isKeepIdField(Name))
  return kept.length === 0 ? undefined : Object.fromEntries(kept.map(({ Name, Value }) => [Name, Value]))
}

function attachmentOf({ Name, Content, ContentType, ContentID }: z.output<typeof attachment>): NativeAttachment {
  return {
    filename: Name,
    content: Content,
    ...(ContentType ? { content_type: ContentType } : {}),
    ...(ContentID ? { content_id: ContentID.replace(/^cid:/i, '') } : {}),
  }
}

function trackingOf({ TrackOpens: opens, TrackLinks: links }: Common): Pick<NativeEmail, 'tracking'> {
  const tracking: NativeEmail['tracking'] = {}
  if (typeof opens === 'boolean') tracking.opens = opens
  if (links) tracking.clicks = links.startsWith('Html')
  return Object.keys(tracking).length > 0 ? { tracking } : {}
}

const renames: Renames = [
  [/^from.*$/, 'From'],
  [/^to.*$/, 'To'],
  [/^cc.*$/, 'Cc'],
  [/^bcc.*$/, 'Bcc'],
  [/^reply_to.*$/, 'ReplyTo'],
  [/^subject$/, 'Subject'],
  [/^html$/, 'HtmlBody'],
  [/^text$/, 'TextBody'],
  [/^headers(.*)$/, 'Headers$1'],
  [/^metadata(.*)$/, 'Metadata$1'],
  [/^tags.*$/, 'Tag'],
  [/^attachments\.(\d+)\.filename$/, 'Attachments.$1.Name'],
  [/^attachments\.(\d+)\.content$/, 'Attachments.$1.Content'],
  [/^attachments\.(\d+)\.content_type$/, 'Attachments.$1.ContentType'],
  [/^attachments\.(\d+)\.content_id$/, 'Attachments.$1.ContentID'],
  [/^attachments(.*)$/, 'Attachments$1'],
  [/^template\.variables(.*)$/, 'TemplateModel$1'],
  [/^template(\.id)?$/, 'TemplateAlias'],
  [/^tracking\.opens$/, 'TrackOpens'],
  [/^tracking(\.clicks)?$/, 'TrackLinks'],
]

/** What Postmark calls a field of the API. */
export const postmarkField = (field: string): string => renamed(field, renames)
