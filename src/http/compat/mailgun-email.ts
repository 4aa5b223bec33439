import { SternaError } from '../../errors.ts'
import { domainOf } from '../../smtp/address.ts'
import { parseDomain } from '../../smtp/domain-name.ts'
import { mostEmails } from '../api/email-list.ts'
import { longestBody } from '../api/email-schema.ts'
import { refusal } from '../validate.ts'
import { prefixed, valuesOf, type Form, type FormFile } from './form-fields.ts'
import { jsonObject, mailgunOptions, singleValue } from './mailgun-options.ts'
import {
  FanOut,
  faultAt,
  mailboxList,
  renamed,
  type CompatFault,
  type NativeAttachment,
  type NativeEmail,
  type NativeMailbox,
  type Renames,
} from './native-email.ts'
import { checkPlaceholders, personalized } from './recipient-variables.ts'
import { ReplacementBudget } from './substitute.ts'

/** What a request to `/v3/:domain/messages` asks for. */
interface MailgunRequest {
  emails: NativeEmail[]
  /** `o:testmode`: as with a sandbox key. */
  isTest: boolean
}

/** characters of all values together; a thousand recipients need no more */
const longestList = 200_000

const known = new Set('from to cc bcc subject text html template t:variables t:text recipient-variables'.split(' '))
const knownPrefix = /^(?:[ohv]):./

/**
 * The emails of a form in Mailgun's terms: one, or with `recipient-variables` one for each address in `to`.
 *
 * `o:tag` becomes a tag of that name, a parameter `v:x` the metadata x, `h:x` the header x. An inline file has its name
 * for a Content-ID. Of no effect, and taken: `t:text` (there is always a text beside the html), `o:dkim=yes`, and
 * whatever an option says that turns something off which this server does not do.
 *
 * @throws SternaError with faults that name the parameters; `payload_too_large` where the emails together are far larger
 *   than the request
 */
export function fromMailgun(form: Form, domain: string): MailgunRequest {
  const faults: CompatFault[] = []
  checkNames(form, faults)
  const options = mailgunOptions(form, faults)
  const email: NativeEmail = {
    ...addresses(form, faults),
    ...contents(form, faults),
    ...files(form.files, faults),
    ...headersOf(form, faults),
    ...(options.tags.length > 0 ? { tags: options.tags } : {}),
    ...(Object.keys(options.metadata).length > 0 ? { metadata: options.metadata } : {}),
    ...(options.scheduledAt === undefined ? {} : { scheduled_at: options.scheduledAt }),
    ...(options.tracking ? { tracking: options.tracking } : {}),
  }
  checkPlaceholders(email, faults)
  if (email.from && !isAtDomain(email.from.email, domain)) {
    faults.push({
      ...faultAt('from', 'invalid_value', `The parameter from must be an address at ${domain}, the domain in the path.`),
      error: 'invalid_from_address',
    })
  }
  const variables = jsonObject(form, 'recipient-variables', faults)
  if (faults.length > 0) throw refusal(faults)
  return { emails: variables ? copies(email, variables) : [email], isTest: options.isTest }
}

/** Whether the address is at the domain or below it. */
export function isAtDomain(address: string, domain: string): boolean {
  const parsed = parseDomain(domain)
  if (!parsed.ok) return false
  const own = domainOf(address)
  return own === parsed.domain || own.endsWith(`.${parsed.domain}`)
}

function checkNames({ fields, files: given }: Form, faults: CompatFault[]): void {
  for (const [name] of fields) {
    if (!known.has(name) && !knownPrefix.test(name)) faults.push({ ...unknown(name), error: 'unsupported_field' })
  }
  for (const { field } of given) {
    if (field !== 'attachment' && field !== 'inline')
      faults.push(faultAt(field, 'unknown_field', `The parameter ${field} may not be a file.`))
  }
}

const unknown = (name: string): CompatFault =>
  name === 'attachment' || name === 'inline'
    ? faultAt(name, 'invalid_type', `The parameter ${name} must be a file: give it a file name.`)
    : faultAt(name, 'unknown_field', `The parameter ${name} is not supported.`)

function addresses(form: Form, faults: CompatFault[]): Pick<NativeEmail, 'from' | 'to' | 'cc' | 'bcc'> {
  const list = (name: string): NativeMailbox[] => {
    const texts = valuesOf(form, name).filter((text) => text !== '')
    if (texts.reduce((length, text) => length + text.length, 0) <= longestList)
      return texts.flatMap((text) => mailboxList(text, name, faults))
    faults.push(faultAt(name, 'too_long', `The parameter ${name} is too long.`))
    return []
  }
  const text = singleValue(form, 'from', faults)
  if (!text) faults.push({ ...faultAt('from', 'missing', 'The parameter from is missing.'), error: 'missing_required_field' })
  const authors = text ? mailboxList(text, 'from', faults) : []
  if (authors.length > 1) faults.push(faultAt('from', 'invalid_email', 'The parameter from must have exactly one address.'))
  const [to, cc, bcc] = [list('to'), list('cc'), list('bcc')]
  if (valuesOf(form, 'to').join('') === '') faults.push(faultAt('to', 'missing', 'The parameter to is missing.'))
  return { from: authors[0], to, ...(cc.length > 0 ? { cc } : {}), ...(bcc.length > 0 ? { bcc } : {}) }
}

function contents(form: Form, faults: CompatFault[]): Pick<NativeEmail, 'subject' | 'html' | 'text' | 'template'> {
  const [subject, html, text, id] = ['subject', 'html', 'text', 'template'].map((name) => singleValue(form, name, faults))
  // What is longer need not be looked at to be refused.
  for (const [name, body] of [
    ['html', html],
    ['text', text],
  ] as const) {
    if ((body?.length ?? 0) > longestBody) throw refusal([faultAt(name, 'too_long', `The parameter ${name} is too long.`)])
  }
  const variables = jsonObject(form, 't:variables', faults)
  if (variables && !id)
    faults.push(faultAt('t:variables', 'invalid_value', 'The parameter t:variables is for templates, and there is no template.'))
  return {
    ...(subject ? { subject } : {}),
    ...(html ? { html } : {}),
    ...(text ? { text } : {}),
    ...(id ? { template: { id, variables: variables ?? {} } } : {}),
  }
}

function files(given: FormFile[], faults: CompatFault[]): Pick<NativeEmail, 'attachments'> {
  if (given.length === 0) return {}
  const names = given.filter(({ field }) => field === 'inline').map(({ filename }) => filename)
  if (new Set(names).size < names.length) faults.push(faultAt('inline', 'invalid_value', 'Two inline files have the same name.'))
  return { attachments: given.map(attachmentOf) }
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
    else headers.push([name, value])
  }
  return { ...(headers.length > 0 ? { headers: Object.fromEntries(headers) } : {}), ...(replyTo ? { reply_to: replyTo } : {}) }
}

function copies(email: NativeEmail, variables: Record<string, unknown>): NativeEmail[] {
  const faults: CompatFault[] = []
  if (email.cc ?? email.bcc) {
    faults.push(
      faultAt('recipient-variables', 'unsupported_field', 'The parameters cc and bcc are not supported with recipient-variables.'),
    )
  }
  const byAddress = new Map(Object.entries(variables).map(([address, own]) => [address.toLowerCase(), own]))
  const recipients = [...new Map(email.to.map((mailbox) => [mailbox.email.toLowerCase(), mailbox])).values()]
  if (recipients.length > mostEmails) {
    throw new SternaError('too_many_recipients', `With recipient-variables the parameter to may have ${mostEmails} addresses at most.`)
  }
  const fanOut = new FanOut()
  const budget = new ReplacementBudget()
  const emails: NativeEmail[] = []
  for (const recipient of recipients) {
    const copy = personalized(email, { recipient, variables: byAddress.get(recipient.email.toLowerCase()), budget }, faults)
    if (faults.length > 0 || !copy) throw refusal(faults)
    fanOut.add(copy)
    emails.push(copy)
  }
  return emails
}

const renames: Renames = [
  [/^(from|to|cc|bcc)\..*$/, '$1'],
  [/^reply_to.*$/, 'h:Reply-To'],
  [/^headers\.(.*)$/, 'h:$1'],
  [/^metadata\.(.*)$/, 'v:$1'],
  [/^metadata$/, 'v:'],
  [/^tags.*$/, 'o:tag'],
  [/^scheduled_at$/, 'o:deliverytime'],
  [/^template\.variables(.*)$/, 't:variables'],
  [/^template\.id$/, 'template'],
  [/^tracking\.(\w+)$/, 'o:tracking-$1'],
  [/^tracking$/, 'o:tracking'],
  [/^attachments.*$/, 'attachment'],
]

/** What Mailgun calls a field of the API. */
export const mailgunField = (field: string): string => renamed(field, renames)
