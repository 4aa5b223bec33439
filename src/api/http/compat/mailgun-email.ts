import { SternaError } from '../../../platform/errors.ts'
import { domainOf } from '../../../platform/smtp/address.ts'
import { parseDomain } from '../../../platform/smtp/domain-name.ts'
import { maxEmails } from '../../resource/email-list.ts'
import { maxBodyLength } from '../../resource/email-schema.ts'
import { refusal } from '../../operation/validate.ts'
import { prefixed, valuesOf, type Form, type FormFile } from './form-fields.ts'
import { checkNames, customData, jsonObject, singleValue, templateValue, variablesHeader, withPlainNames } from './mailgun-form.ts'
import { mailgunOptions } from './mailgun-options.ts'
import {
  FanOut,
  faultAt,
  mailboxList,
  renamed,
  withoutOwnSender,
  type CompatFault,
  type NativeAttachment,
  type NativeEmail,
  type NativeMailbox,
  type Renames,
} from './native-email.ts'
import { checkPlaceholders, filledForm, mapTexts, recipientFill } from './recipient-variables.ts'
import { ReplacementBudget } from './substitute.ts'

/** What a request to `/v3/:domain/messages` asks for. */
interface MailgunRequest {
  emails: NativeEmail[]
  /** `o:testmode`: as with a sandbox key. */
  isTest: boolean
}

/** What the emails of a form have in common, read once. */
interface Shared {
  domain: string
  attachments: NativeAttachment[]
  /** What `h:X-Mailgun-Variables` holds. */
  custom: Record<string, unknown>
  /** What a template is filled with. */
  variables: Record<string, unknown>
}

/** characters of all values together; a thousand recipients need no more */
const maxListLength = 200_000

/**
 * The emails of a form in Mailgun's terms: one, or with `recipient-variables` one for each address in `to`, with that
 * recipient's values in all its fields.
 *
 * `o:tag` becomes a tag of that name, a parameter `v:x` the metadata x, `h:x` the header x. With a template the values of
 * `v:…`, `h:X-Mailgun-Variables` and `t:variables` are its variables, later ones before earlier ones. An inline file has its
 * name for a Content-ID. Of no effect, and taken: `t:text` (there is always a text beside the html), `o:dkim=yes`, a Sender
 * that is the From, and whatever an option says that turns something off which this server does not do.
 *
 * @throws SternaError with faults that name the parameters; `payload_too_large` where the emails together are far larger
 *   than the request
 */
export function fromMailgun(given: Form, domain: string): MailgunRequest {
  const faults: CompatFault[] = []
  const form = withPlainNames(given)
  checkNames(form, faults)
  checkPlaceholders(form, faults)
  const custom = customData(form, faults)
  const shared = { domain, custom, attachments: attachmentsOf(form.files, faults), variables: variablesOf(form, custom, faults) }
  const to = mailboxes(form, 'to', faults)
  if (valuesOf(form, 'to').join('') === '') faults.push(faultAt('to', 'missing', 'The parameter to is missing.'))
  const byRecipient = jsonObject(form, 'recipient-variables', faults)
  const isTest = mailgunOptions(form, {}, faults).isTest
  if (byRecipient && faults.length === 0) return { emails: copies({ form, to, shared }, byRecipient), isTest }
  const email = emailOf({ form, to, shared }, faults)
  if (faults.length > 0) throw refusal(faults)
  return { emails: [email], isTest }
}

/** Whether the address is at the domain or below it. */
export function isAtDomain(address: string, domain: string): boolean {
  const parsed = parseDomain(domain)
  if (!parsed.ok) return false
  const own = domainOf(address)
  return own === parsed.domain || own.endsWith(`.${parsed.domain}`)
}

interface Source {
  form: Form
  to: NativeMailbox[]
  shared: Shared
}

function emailOf({ form, to, shared }: Source, faults: CompatFault[]): NativeEmail {
  const { tags, metadata, scheduledAt, tracking } = mailgunOptions(form, shared.custom, faults)
  const from = authorOf(form, shared.domain, faults)
  const [cc, bcc] = [mailboxes(form, 'cc', faults), mailboxes(form, 'bcc', faults)]
  const { attachments } = shared
  return withoutOwnSender({
    from,
    to,
    ...(cc.length > 0 ? { cc } : {}),
    ...(bcc.length > 0 ? { bcc } : {}),
    ...contents(form, shared.variables, faults),
    ...(attachments.length > 0 ? { attachments } : {}),
    ...headersOf(form, faults),
    ...(tags.length > 0 ? { tags } : {}),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    ...(scheduledAt === undefined ? {} : { scheduled_at: scheduledAt }),
    ...(tracking ? { tracking } : {}),
  })
}

function mailboxes(form: Form, name: string, faults: CompatFault[]): NativeMailbox[] {
  const texts = valuesOf(form, name).filter((text) => text !== '')
  if (texts.reduce((length, text) => length + text.length, 0) <= maxListLength)
    return texts.flatMap((text) => mailboxList(text, name, faults))
  faults.push(faultAt(name, 'too_long', `The parameter ${name} is too long.`))
  return []
}

function authorOf(form: Form, domain: string, faults: CompatFault[]): NativeMailbox | undefined {
  const text = singleValue(form, 'from', faults)
  if (!text) faults.push({ ...faultAt('from', 'missing', 'The parameter from is missing.'), error: 'missing_required_field' })
  const [author, second] = text ? mailboxList(text, 'from', faults) : []
  if (second) faults.push(faultAt('from', 'invalid_email', 'The parameter from must have exactly one address.'))
  if (author && !isAtDomain(author.email, domain)) {
    faults.push({
      ...faultAt('from', 'invalid_value', `The parameter from must be an address at ${domain}, the domain in the path.`),
      error: 'invalid_from_address',
    })
  }
  return author
}

function contents(
  form: Form,
  variables: Record<string, unknown>,
  faults: CompatFault[],
): Pick<NativeEmail, 'subject' | 'html' | 'text' | 'template'> {
  const [subject, html, text, id] = ['subject', 'html', 'text', 'template'].map((name) => singleValue(form, name, faults))
  // What is longer need not be looked at to be refused.
  for (const [name, body] of [
    ['html', html],
    ['text', text],
  ] as const) {
    if ((body?.length ?? 0) > maxBodyLength) throw refusal([faultAt(name, 'too_long', `The parameter ${name} is too long.`)])
  }
  const version = versionOf(form, !!id, faults)
  return {
    ...(subject ? { subject } : {}),
    ...(html ? { html } : {}),
    ...(text ? { text } : {}),
    ...(id ? { template: { id, variables, ...(version === undefined ? {} : { version }) } } : {}),
  }
}

/** Versions have names there, and numbers here. */
function versionOf(form: Form, isTemplate: boolean, faults: CompatFault[]): number | undefined {
  const text = singleValue(form, 't:version', faults)
  if (!text) return undefined
  const number = /^v?([1-9]\d{0,8})$/i.exec(text)?.[1]
  if (!isTemplate) faults.push(withoutTemplate('t:version'))
  else if (number === undefined)
    faults.push(
      faultAt('t:version', 'invalid_value', 'The parameter t:version must be the number of a version of the template, such as 2.'),
    )
  return Number(number)
}

const withoutTemplate = (name: string): CompatFault =>
  faultAt(name, 'invalid_value', `The parameter ${name} is for templates, and there is no template.`)

function variablesOf(form: Form, custom: Record<string, unknown>, faults: CompatFault[]): Record<string, unknown> {
  const variables = jsonObject(form, 't:variables', faults)
  const isTemplate = valuesOf(form, 'template').join('') !== ''
  if (variables && !isTemplate) faults.push(withoutTemplate('t:variables'))
  if (!isTemplate) return {}
  return { ...Object.fromEntries(prefixed(form, 'v:').map(([name, text]) => [name, templateValue(text)])), ...custom, ...variables }
}

function attachmentsOf(files: FormFile[], faults: CompatFault[]): NativeAttachment[] {
  const names = files.filter(({ field }) => field === 'inline').map(({ filename }) => filename)
  if (new Set(names).size < names.length) faults.push(faultAt('inline', 'invalid_value', 'Two inline files have the same name.'))
  return files.map(attachmentOf)
}

const attachmentOf = ({ field, filename, contentType, content }: FormFile): NativeAttachment => ({
  filename,
  content: content.toString('base64'),
  // The type that says nothing is left to be told from the name.
  ...(contentType === '' || contentType === 'application/octet-stream' ? {} : { content_type: contentType }),
  ...(field === 'inline' ? { content_id: filename } : {}),
})

function headersOf(form: Form, faults: CompatFault[]): Pick<NativeEmail, 'headers' | 'reply_to'> {
  const headers: [name: string, value: string][] = []
  const seen = new Set<string>()
  let replyTo: NativeMailbox[] | undefined
  for (const [name, value] of prefixed(form, 'h:')) {
    const lower = name.toLowerCase()
    if (seen.has(lower)) faults.push(faultAt(`h:${name}`, 'invalid_value', `The parameter h:${name} is given twice.`))
    seen.add(lower)
    if (lower === 'reply-to') replyTo = mailboxList(value, `h:${name}`, faults)
    else if (lower !== variablesHeader) headers.push([name, value])
  }
  return { ...(headers.length > 0 ? { headers: Object.fromEntries(headers) } : {}), ...(replyTo ? { reply_to: replyTo } : {}) }
}

function copies({ form, to, shared }: Source, byRecipient: Record<string, unknown>): NativeEmail[] {
  const faults: CompatFault[] = []
  if (valuesOf(form, 'cc').join('') !== '' || valuesOf(form, 'bcc').join('') !== '') {
    faults.push(
      faultAt('recipient-variables', 'unsupported_field', 'The parameters cc and bcc are not supported with recipient-variables.'),
    )
  }
  const byAddress = new Map(Object.entries(byRecipient).map(([address, own]) => [address.toLowerCase(), own]))
  const recipients = [...new Map(to.map((mailbox) => [mailbox.email.toLowerCase(), mailbox])).values()]
  if (recipients.length > maxEmails) {
    throw new SternaError('too_many_recipients', `With recipient-variables the parameter to may have ${maxEmails} addresses at most.`)
  }
  const fanOut = new FanOut(recipients.length * sizeOf(form))
  const budget = new ReplacementBudget()
  return recipients.map((recipient) => {
    const fill = recipientFill({ recipient, variables: byAddress.get(recipient.email.toLowerCase()), budget }, faults)
    const own = filledForm(form, fill.text)
    const [custom, variables] = [shared.custom, shared.variables].map((values) => mapTexts(values, fill.value) as Record<string, unknown>)
    const source = { form: own, to: [recipient], shared: { ...shared, custom: custom ?? {}, variables: variables ?? {} } }
    const email = faults.length > 0 ? undefined : emailOf(source, faults)
    if (faults.length > 0 || !email) throw refusal(faults)
    fanOut.add(email)
    return email
  })
}

/** Characters of what each copy has. */
const sizeOf = ({ fields }: Form): number =>
  fields.reduce((size, [name, value]) => size + (name === 'to' || name === 'recipient-variables' ? 0 : value.length), 0)

const renames: Renames = [
  [/^(from|to|cc|bcc)\..*$/, '$1'],
  [/^reply_to.*$/, 'h:Reply-To'],
  [/^headers\.(.*)$/, 'h:$1'],
  [/^metadata\.(.*)$/, 'v:$1'],
  [/^metadata$/, 'v:'],
  [/^tags.*$/, 'o:tag'],
  [/^scheduled_at$/, 'o:deliverytime'],
  [/^template\.variables(.*)$/, 't:variables'],
  [/^template\.version$/, 't:version'],
  [/^template\.id$/, 'template'],
  [/^tracking\.(\w+)$/, 'o:tracking-$1'],
  [/^tracking$/, 'o:tracking'],
  [/^attachments.*$/, 'attachment'],
]

/** What Mailgun calls a field of the API. */
export const mailgunField = (field: string): string => renamed(field, renames)
