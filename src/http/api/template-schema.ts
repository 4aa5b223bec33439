import { z } from 'zod'
import { templateName } from '../../template/parse-template.ts'
import { mostVariables } from '../../template/template-content.ts'
import type { TemplateFields } from '../../template/template-list.ts'
import { given } from '../given.ts'
import type { CheckParams } from '../validate.ts'
import { bodyText, line } from './email-schema.ts'

const mostReplyTo = 10
/** characters */
const longestMailbox = 1000
const longestFallback = 2000

const alias = z
  .string()
  .regex(/^(?!tpl_)[a-z0-9][a-z0-9_-]{0,63}$/, 'use a-z, 0-9, _ and -, 64 of them at most, not beginning with _, - or tpl_')
  .describe('Unique in the account; can be used in the place of the id.')

const variable = z
  .object({
    key: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,49}$/, 'use letters, digits and _, 50 of them at most, not beginning with a digit'),
    type: z.enum(['string', 'number']),
    fallback_value: z.union([z.string().max(longestFallback), z.number()]).nullish(),
  })
  .superRefine(({ type, fallback_value: fallback }, ctx) => {
    if (fallback === null || fallback === undefined || typeof fallback === type) return
    const params: CheckParams = { code: 'invalid_type' }
    ctx.addIssue({ code: 'custom', path: ['fallback_value'], message: `must be a ${type}, as the variable is`, params })
  })

const variables = z
  .array(variable)
  .max(mostVariables)
  .superRefine((declared, ctx) => {
    const keys = declared.map(({ key }) => key)
    const twice = keys.findIndex((key, place) => keys.indexOf(key) !== place)
    const params: CheckParams = { code: 'duplicate' }
    if (twice !== -1) ctx.addIssue({ code: 'custom', path: [twice, 'key'], message: 'names a variable that is declared already', params })
  })

const mailbox = z.string().min(1).max(longestMailbox)

const shape = {
  name: line(255).describe('For people.'),
  alias: alias.nullish(),
  subject: line(998).nullish(),
  html: bodyText.min(1),
  text: bodyText.nullish().describe('Made from the html if left out or null; none if empty.'),
  from: mailbox.nullish().describe('An address, or `Name <address>`; an email may name another.'),
  reply_to: z.union([mailbox, z.array(mailbox).max(mostReplyTo)], { error: 'must be an address, or an array of them' }).nullish(),
  layout: z
    .string()
    .regex(templateName, 'must be the alias or the id of a template')
    .nullish()
    .describe('Alias or id of the template that this one stands in when it is published, where that has `{{{@content}}}`.'),
  variables: variables.nullish().describe('Those that must be given, or have a fallback. Others may be used without being declared.'),
}

export const newTemplateSchema = z.object(shape)
export const templateChangesSchema = z.object({ ...shape, name: shape.name.optional(), html: shape.html.optional() })
/** What of a template is meant. */
const which = z.enum(['draft', 'published'])

export const publishSchema = z.object({
  version: which
    .nullish()
    .describe(
      '`draft` if not given: the newest version. `published`: what is published already, with its layout and partials ' +
        'as they are now; a draft stays.',
    ),
})

export const testSchema = z.object({
  to: mailbox.describe('One address.'),
  variables: z.record(z.string(), z.unknown()).nullish(),
  version: which.nullish().describe('`draft` if not given: the newest version, published or not.'),
  from: mailbox.nullish().describe('Required unless the template has one.'),
  subject: line(998).nullish().describe('Required unless the template has one.'),
  unsubscribe: z.boolean().nullish().describe('Fills in `{{unsubscribe_url}}` with a link that works for this address.'),
})

export const renderSchema = z.object({ variables: z.record(z.string(), z.unknown()).nullish() })

/** What is given, in our words; null and left out are the same for a template that is new. */
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

/** What is given, in our words; what is left out stays as it was, null takes it away. */
export function changedTemplateFields(body: z.output<typeof templateChangesSchema>): Partial<TemplateFields> {
  const { reply_to: replyTo, variables: declared, ...rest } = body
  const fields: Partial<TemplateFields> = given(rest)
  if (replyTo !== undefined) fields.replyTo = replyTo === null ? [] : [replyTo].flat()
  if (declared !== undefined) {
    fields.variables = (declared ?? []).map(({ key, type, fallback_value: fallback }) => ({ key, type, fallbackValue: fallback ?? null }))
  }
  return fields
}
