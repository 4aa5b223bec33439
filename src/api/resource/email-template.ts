import type { FieldFault } from '../../platform/errors.ts'
import { headerTextFault } from '../../mail/message/check-headers.ts'
import type { LiveTemplate } from '../../mail/template/live-templates.ts'
import { OverBudget, type RenderBudget } from '../../mail/template/render-budget.ts'
import { renderComplete, type RenderedTemplate } from '../../mail/template/render-template.ts'
import { smallRendering } from '../../mail/template/template-work.ts'
import type { ParsedContent } from '../../mail/template/template-content.ts'
import { refusal } from '../operation/validate.ts'
import { maxSubjectLength, type EmailInput, type MailboxInput } from './email-schema.ts'
import { linkVariable } from './unsubscribe-link.ts'

/** A published template with its parts parsed. */
export interface FoundTemplate {
  readonly template: LiveTemplate
  readonly parsed: ParsedContent
}

/** Where templates come from, and what rendering them may cost. */
export interface TemplateSource {
  /** @throws SternaError `template_not_found`, `template_not_published` */
  findTemplate(accountId: string, idOrAlias: string, version: number | null): Promise<FoundTemplate>
  /** What all templates of a request may cost on this thread; null: what each may by itself. */
  renderRoom: RenderBudget | null
}

/** An email that has everything a message is made from. */
export interface CompleteEmail extends EmailInput {
  from: MailboxInput
  subject: string
  templateId: string | null
}

/** Rendering the templates of the request would take longer than this thread may be busy. */
export class TooMuchHere extends Error {}

/**
 * The email, completed from its template if it has one. The email's own fields take precedence.
 * @throws SternaError `template_not_found`, `template_not_published`, `missing_template_variable`, `validation_error`,
 *   `missing_required_field`
 * @throws TooMuchHere if `renderRoom` is used up
 */
export async function withTemplate(email: EmailInput, accountId: string, source: TemplateSource): Promise<CompleteEmail> {
  if (!email.template) return complete(email, null)
  const found = await source.findTemplate(accountId, email.template.id, email.template.version ?? null)
  const { template } = found
  const { subject, html, text } = rendered(email, found, source.renderRoom)
  const isReplyToSet = email.reply_to || Object.keys(email.headers ?? {}).some((name) => name.toLowerCase() === 'reply-to')
  const replyTo = isReplyToSet ? email.reply_to : template.replyTo
  const from = email.from ?? template.from ?? undefined
  return complete({ ...email, from, subject: email.subject ?? subject ?? undefined, html, text, reply_to: replyTo }, template.id)
}

function rendered(email: EmailInput, found: FoundTemplate, room: RenderBudget | null): RenderedTemplate {
  const { template } = found
  // Parsing it takes long, too.
  if (room !== null && template.html.length + (template.text?.length ?? 0) > smallRendering.length) throw new TooMuchHere()
  const { parsed } = found
  // A subject that is not used needs no variables.
  const used = email.subject === undefined ? parsed : { ...parsed, subject: null }
  const variables = { ...(email.unsubscribe ? linkVariable : {}), ...email.template?.variables }
  try {
    const filled = renderComplete({ parsed: used, variables: template.variables }, variables, { field: 'template.variables', room })
    const fault = filled.subject === null ? null : subjectFault(filled.subject)
    if (fault !== null) throw refusal([fault])
    return filled
  } catch (error) {
    throw error instanceof OverBudget && error.budget === room ? new TooMuchHere() : error
  }
}

function subjectFault(subject: string): FieldFault | null {
  const fault = headerTextFault(subject)
  const message = 'The subject that the template makes from these variables is invalid.'
  if (fault !== null) return { field: 'subject', code: 'invalid_characters', message: `${message} ${fault}`, help: null }
  if (subject.length >= 1 && subject.length <= maxSubjectLength) return null
  return {
    field: 'subject',
    code: 'invalid_length',
    message: `${message} It has ${subject.length} characters; allowed are 1 to ${maxSubjectLength}.`,
    help: null,
  }
}

function complete(email: EmailInput, templateId: string | null): CompleteEmail {
  const { from, subject } = email
  if (from !== undefined && subject !== undefined) return { ...email, from, subject, templateId }
  throw refusal([...(from === undefined ? [missing('from')] : []), ...(subject === undefined ? [missing('subject')] : [])])
}

const missing = (field: string): FieldFault => ({
  field,
  code: 'missing',
  message: `The \`${field}\` field is missing, and the template has none.`,
  help: null,
})
