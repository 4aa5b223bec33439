import { isoTime } from '../../../platform/iso-time.ts'
import { labelTag } from '../../../mail/message/send-limits.ts'
import { refusal, validate } from '../../operation/validate.ts'
import { isNothing } from './compat-schema.ts'
import {
  FanOut,
  faultAt,
  renamed,
  withoutOwnSender,
  type CompatFault,
  type NativeAttachment,
  type NativeEmail,
  type Renames,
} from './native-email.ts'
import { sendGridSchema, type SendGridAttachment, type SendGridBody } from './sendgrid-schema.ts'
import { areTooMuch, ReplacementBudget, substitute } from './substitute.ts'

type Personalization = SendGridBody['personalizations'][number]

/** What a request to `/v3/mail/send` asks for. */
interface SendGridRequest {
  emails: NativeEmail[]
  /** `sandbox_mode`: everything is checked, nothing is accepted. */
  validatesOnly: boolean
}

/**
 * The emails of a request in SendGrid's form, one for each personalization.
 *
 * A category becomes a tag of that name, `custom_args` become metadata, the id of an `asm` group a topic to unsubscribe
 * from. `substitutions` are replaced in the subject and the contents as plain text; with a `template_id` those of the form
 * `{{name}}` are the template's variables, since the client sends `dynamic_template_data` only where the id begins with
 * `d-`. Of no effect, and taken: a `disposition` beside a `content_id`, which alone decides; a substitution that stands
 * nowhere; `enable_text`, since links in text are treated as those in html. Everything else that would have to be left
 * undone is refused.
 *
 * @throws SternaError with faults that name the members of SendGrid's body; `payload_too_large` where the emails
 *   together are far larger than the request
 */
export function fromSendGrid(body: unknown): SendGridRequest {
  const request = validate(sendGridSchema, body)
  const faults: CompatFault[] = []
  const shared = sharedFields(request, faults)
  const fanOut = new FanOut()
  const emails: NativeEmail[] = []
  const budget = new ReplacementBudget()
  for (const [place, one] of request.personalizations.entries()) {
    if (one.to.length === 0)
      faults.push(faultAt(`personalizations.${place}.to`, 'missing', `The \`personalizations.${place}.to\` field names nobody.`))
    const email = withoutOwnSender({ ...shared, ...ownFields(request, one), ...contents({ request, one, place, budget }, faults) })
    fanOut.add(email)
    emails.push(email)
  }
  if (faults.length > 0) throw refusal(faults)
  return { emails, validatesOnly: request.mail_settings?.sandbox_mode?.enable === true }
}

/** What the emails of a request have in common. */
function sharedFields(
  request: SendGridBody,
  faults: CompatFault[],
): Pick<NativeEmail, 'attachments' | 'tags' | 'tracking' | 'unsubscribe' | 'reply_to'> {
  const { asm, attachments, categories, tracking_settings: tracking, reply_to: one, reply_to_list: list } = request
  if (one && list) faults.push(faultAt('reply_to_list', 'invalid_value', 'Give either `reply_to` or `reply_to_list`, not both.'))
  const opens = tracking?.open_tracking?.enable ?? undefined
  const clicks = tracking?.click_tracking?.enable ?? undefined
  const replyTo = one ? [one] : list
  return {
    ...(replyTo ? { reply_to: replyTo } : {}),
    ...(attachments ? { attachments: attachments.map(attachmentOf) } : {}),
    // SendGrid takes a category twice as once.
    ...(categories ? { tags: [...new Set(categories)].map(labelTag) } : {}),
    ...(asm?.group_id ? { unsubscribe: { topic: String(asm.group_id) } } : {}),
    ...(opens === undefined && clicks === undefined
      ? {}
      : { tracking: { ...(opens === undefined ? {} : { opens }), ...(clicks === undefined ? {} : { clicks }) } }),
  }
}

function attachmentOf({ filename, content, type, content_id: id, contentId }: SendGridAttachment): NativeAttachment {
  const contentIdGiven = id ?? contentId
  return {
    filename,
    content,
    ...(type ? { content_type: type } : {}),
    ...(contentIdGiven ? { content_id: contentIdGiven } : {}),
  }
}

/** What a personalization says, and where it is silent the request. */
function ownFields(
  request: SendGridBody,
  one: Personalization,
): Pick<NativeEmail, 'from' | 'to' | 'cc' | 'bcc' | 'headers' | 'metadata' | 'scheduled_at'> {
  const sendAt = one.send_at ?? request.send_at
  const headers = mergedHeaders(request.headers ?? {}, one.headers ?? {})
  const metadata = { ...request.custom_args, ...one.custom_args }
  return {
    from: one.from ?? request.from,
    to: one.to,
    ...(one.cc ? { cc: one.cc } : {}),
    ...(one.bcc ? { bcc: one.bcc } : {}),
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    ...(sendAt === null || sendAt === undefined ? {} : { scheduled_at: isoTime(sendAt * 1000) }),
  }
}

function mergedHeaders(general: Record<string, string>, own: Record<string, string>): Record<string, string> {
  const replaced = new Set(Object.keys(own).map((name) => name.toLowerCase()))
  return { ...Object.fromEntries(Object.entries(general).filter(([name]) => !replaced.has(name.toLowerCase()))), ...own }
}

interface At {
  request: SendGridBody
  one: Personalization
  place: number
  budget: ReplacementBudget
}

/** Subject and bodies with their substitutions, or the template with its variables. */
function contents({ request, one, place, budget }: At, faults: CompatFault[]): Pick<NativeEmail, 'subject' | 'html' | 'text' | 'template'> {
  const values = new Map(Object.entries(one.substitutions ?? {}).map(([key, value]) => [key, String(value)]))
  if (areTooMuch([...values.keys()])) {
    const field = `personalizations.${place}.substitutions`
    faults.push(faultAt(field, 'too_long', `The \`${field}\` field has a key that is too long.`))
    return {}
  }
  const subject = one.subject ?? request.subject
  const id = request.template_id
  if (id)
    return {
      ...(subject ? { subject } : {}),
      ...bodies(request, { values: new Map(), budget }, faults),
      template: { id, variables: variablesOf(one, place, faults) },
    }
  if (one.dynamic_template_data && !isNothing(one.dynamic_template_data)) {
    const field = `personalizations.${place}.dynamic_template_data`
    faults.push(faultAt(field, 'invalid_value', `The \`${field}\` field is for templates, and there is no \`template_id\`.`))
  }
  const replaced = subject === null || subject === undefined ? subject : substitute(subject, values, budget)
  return { ...(replaced ? { subject: replaced } : {}), ...bodies(request, { values, budget }, faults) }
}

/** In a template every `{{name}}` is a variable, so another kind of substitution could not be made. */
function variablesOf(one: Personalization, place: number, faults: CompatFault[]): Record<string, unknown> {
  const variables: [string, unknown][] = []
  for (const [key, value] of Object.entries(one.substitutions ?? {})) {
    const name = /^\{\{ *([A-Za-z_][A-Za-z0-9_]*) *\}\}$/.exec(key)?.[1]
    if (name !== undefined) {
      variables.push([name, value])
      continue
    }
    const field = `personalizations.${place}.substitutions`
    faults.push(faultAt(field, 'invalid_value', `The \`${field}\` field of an email with a template must have keys such as {{name}}.`))
    break
  }
  return { ...Object.fromEntries(variables), ...one.dynamic_template_data }
}

/** What SendGrid fills in where an email has a group. */
const groupLink = /<%asm_group_unsubscribe_raw_url%>/g
const otherLink = /<%asm_[a-z_]{1,50}%>/

function bodies(
  { content, asm }: SendGridBody,
  { values, budget }: { values: Map<string, string>; budget: ReplacementBudget },
  faults: CompatFault[],
): Pick<NativeEmail, 'html' | 'text'> {
  const found: Pick<NativeEmail, 'html' | 'text'> = {}
  for (const [place, { type, value }] of (content ?? []).entries()) {
    const kind = /^text\/(html|plain) *(?:; *charset="?utf-?8"? *)?$/i.exec(type)?.[1]?.toLowerCase()
    const name = kind === 'html' ? 'html' : 'text'
    if (kind === undefined) {
      faults.push(
        faultAt(`content.${place}.type`, 'unsupported_field', `The \`content.${place}.type\` field must be text/plain or text/html.`),
      )
    } else if (found[name] !== undefined) {
      faults.push(faultAt(`content.${place}.type`, 'invalid_value', `The \`content.${place}.type\` field is given twice.`))
    } else {
      const linked = asm?.group_id ? value.replaceAll(groupLink, '{{unsubscribe_url}}') : value
      const tag = otherLink.exec(linked)?.[0]
      if (tag !== undefined)
        faults.push(
          faultAt(
            `content.${place}.value`,
            'unsupported_field',
            `The \`content.${place}.value\` field holds ${tag}, which is not filled in here.`,
          ),
        )
      const replaced = substitute(linked, values, budget)
      if (replaced === null)
        faults.push(
          faultAt(`content.${place}.value`, 'too_long', `The \`content.${place}.value\` field is too long with its substitutions.`),
        )
      else found[name] = replaced
    }
  }
  return found
}

const renames: Renames = [
  [/^(to|cc|bcc)\.(\d+)(?:\.(email|name))?$/, 'personalizations.#.$1.$2.email'],
  [/^(to|cc|bcc)$/, 'personalizations.#.$1'],
  [/^reply_to\.\d+.*$/, 'reply_to'],
  [/^(html|text)$/, 'content'],
  [/^tags\.(\d+).*$/, 'categories.$1'],
  [/^tags$/, 'categories'],
  [/^metadata(.*)$/, 'custom_args$1'],
  [/^scheduled_at$/, 'send_at'],
  [/^template\.variables(.*)$/, 'personalizations.#.dynamic_template_data$1'],
  [/^template(\.id)?$/, 'template_id'],
  [/^tracking\.opens$/, 'tracking_settings.open_tracking.enable'],
  [/^tracking\.clicks$/, 'tracking_settings.click_tracking.enable'],
  [/^tracking$/, 'tracking_settings'],
  [/^attachments\.(\d+)\.content_type$/, 'attachments.$1.type'],
]

/** What SendGrid calls a field of the API, of the email at this place. */
export const sendGridField = (field: string, place: number): string =>
  renamed(
    field,
    renames.map(([pattern, name]) => [pattern, name.replace('#', String(place))]),
  )
