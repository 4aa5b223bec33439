import { z } from 'zod'
import { templateName } from '../../mail/template/parse-template.ts'
import { maxVariables } from '../../mail/template/template-content.ts'
import type { TemplateFields } from '../../mail/template/template-list.ts'
import { given } from './given.ts'
import type { CheckParams } from '../../platform/errors.ts'
import { bodyText, line } from './email-schema.ts'

const maxReplyTo = 10
/** characters */
const maxMailboxLength = 1000
const maxFallbackLength = 2000

const alias = z
  .string()
  .regex(/^(?!tpl_)[a-z0-9][a-z0-9_-]{0,63}$/, 'use a-z, 0-9, _ and -, at most 64 of them, not starting with _, - or tpl_')
  .describe('Unique in the account; can be used instead of the id.')

const variable = z
  .object({
    key: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,49}$/, 'use letters, digits and _, at most 50 of them, not starting with a digit'),
    type: z.enum(['string', 'number']),
    fallback_value: z.union([z.string().max(maxFallbackLength), z.number()]).nullish(),
  })
  .superRefine(({ type, fallback_value: fallback }, ctx) => {
    if (fallback === null || fallback === undefined || typeof fallback === type) return
    const params: CheckParams = { code: 'invalid_type' }
    ctx.addIssue({ code: 'custom', path: ['fallback_value'], message: `must be a ${type}, the type of the variable`, params })
  })

const variables = z
  .array(variable)
  .max(maxVariables)
  .superRefine((declared, ctx) => {
    const keys = declared.map(({ key }) => key)
    const twice = keys.findIndex((key, place) => keys.indexOf(key) !== place)
    const params: CheckParams = { code: 'duplicate' }
    if (twice !== -1) ctx.addIssue({ code: 'custom', path: [twice, 'key'], message: 'names a variable that is already declared', params })
  })

const mailbox = z.string().min(1).max(maxMailboxLength)

const shape = {
  name: line(255).describe('For people.'),
  alias: alias.nullish(),
  subject: line(998).nullish(),
  html: bodyText.min(1),
  text: bodyText.nullish().describe('Default, or null: made from the html. Empty: no text.'),
  from: mailbox.nullish().describe('An address, or `Name <address>`; an email can override it.'),
  reply_to: z.union([mailbox, z.array(mailbox).max(maxReplyTo)], { error: 'must be an address, or an array of them' }).nullish(),
  layout: z
    .string()
    .regex(templateName, 'must be the alias or the id of a template')
    .nullish()
    .describe('Alias or id of the layout. When this template is published, it is inserted there in place of `{{{@content}}}`.'),
  variables: variables.nullish().describe('Variables that are required or have a fallback. Others need not be declared.'),
}

export const newTemplateSchema = z.object(shape)
export const templateChangesSchema = z.object({ ...shape, name: shape.name.optional(), html: shape.html.optional() })
/** Which version is meant. */
const which = z.enum(['draft', 'published'])

export const publishSchema = z.object({
  version: which
    .nullish()
    .describe(
      '`draft` (default): the newest version. `published`: what is already published, with its layout and partials ' +
        'as they are now; a draft stays.',
    ),
})

export const testSchema = z.object({
  to: mailbox.describe('One address.'),
  variables: z.record(z.string(), z.unknown()).nullish(),
  version: which.nullish().describe('`draft` (default): the newest version, published or not.'),
  from: mailbox.nullish().describe('Required unless the template has one.'),
  subject: line(998).nullish().describe('Required unless the template has one.'),
  unsubscribe: z.boolean().nullish().describe('Fills in `{{unsubscribe_url}}` with a link that works for this address.'),
})

export const renderSchema = z.object({ variables: z.record(z.string(), z.unknown()).nullish() })

export const renderUnsavedSchema = z.object({
  subject: shape.subject,
  html: bodyText,
  text: shape.text,
  layout: shape.layout,
  declared: shape.variables.describe('Variables as a template declares them: with a type, and a fallback or none.'),
  variables: renderSchema.shape.variables.describe('Values, as an email gives them.'),
})

/** The content in the types of `template`. */
export const unsavedContent = ({ declared, ...body }: z.output<typeof renderUnsavedSchema>) =>
  newTemplateFields({ ...body, name: '', variables: declared })

/** The given fields in the types of `template`; for a new template, null and missing mean the same. */
export const newTemplateFields = (body: z.output<typeof newTemplateSchema>): TemplateFields => ({
  alias: null,
  subject: null,
  text: null,
  from: null,
  replyTo: [],
  variables: [],
  layout: null,
  ...changedTemplateFields(body),
  name: body.name,
  html: body.html,
})

/** The given fields in the types of `template`; a missing one stays as it was, and null removes it. */
export function changedTemplateFields(body: z.output<typeof templateChangesSchema>): Partial<TemplateFields> {
  const { reply_to: replyTo, variables: declared, ...rest } = body
  const fields: Partial<TemplateFields> = given(rest)
  if (replyTo !== undefined) fields.replyTo = replyTo === null ? [] : [replyTo].flat()
  if (declared !== undefined) {
    fields.variables = (declared ?? []).map(({ key, type, fallback_value: fallback }) => ({ key, type, fallbackValue: fallback ?? null }))
  }
  return fields
}
