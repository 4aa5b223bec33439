import { z } from 'zod'
import { isoTime, isoTimeOrNull } from '../../iso-time.ts'
import type { DeclaredVariable } from '../../template/template-content.ts'
import type { Template } from '../../template/template-store.ts'
import type { TemplateListRow } from '../../template/template-list.ts'
import { timeAnswer } from '../time-field.ts'

/** What a change answers. */
export const templateReference = z.object({ object: z.literal('template'), id: z.string() }).meta({ id: 'TemplateReference' })

export const deletedTemplate = templateReference.extend({ deleted: z.boolean() }).meta({ id: 'DeletedTemplate' })

/** A template in a list. */
export const templateItemAnswer = z
  .object({
    object: z.literal('template'),
    id: z.string(),
    name: z.string(),
    alias: z.string().nullable(),
    status: z.enum(['draft', 'published']).describe('`draft` until it is published for the first time.'),
    published_at: timeAnswer.nullable(),
    created_at: timeAnswer,
    updated_at: timeAnswer,
  })
  .meta({ id: 'TemplateItem' })

export const variableAnswer = z
  .object({
    key: z.string(),
    type: z.enum(['string', 'number']),
    fallback_value: z.union([z.string(), z.number()]).nullable().describe('Null: every email must give a value.'),
    created_at: timeAnswer,
    updated_at: timeAnswer,
  })
  .meta({ id: 'TemplateVariable' })

export const templateAnswer = templateItemAnswer
  .extend({
    subject: z.string().nullable(),
    html: z.string(),
    text: z.string().nullable().describe('Null: made from the html. Empty: there is none.'),
    from: z.string().nullable(),
    reply_to: z.array(z.string()).nullable(),
    variables: z.array(variableAnswer),
    layout: z.string().nullable().describe('Alias or id of the template that this one stands in.'),
    version: z.int().nullable().describe('The number of the version that is sent.'),
    is_outdated: z
      .boolean()
      .describe('Whether a layout or partial in what is sent has been published anew since. Publishing takes the new one.'),
    has_unpublished_versions: z.boolean().describe('Whether what is shown here differs from what is sent.'),
    current_version_id: z.string().describe('The version that is shown here, the newest.'),
  })
  .meta({ id: 'Template' })

export const renderedAnswer = z
  .object({
    subject: z.string().nullable(),
    html: z.string(),
    text: z.string().nullable().describe('Null: made from the html when it is sent.'),
    missing: z.array(z.string()).describe('Variables with neither a value nor a fallback; an email that lacks them is refused.'),
  })
  .meta({ id: 'RenderedTemplate' })

export const templateItem = (row: TemplateListRow) => ({
  object: 'template' as const,
  id: row.id,
  name: row.name,
  alias: row.alias,
  status: row.published_at === null ? ('draft' as const) : ('published' as const),
  published_at: isoTimeOrNull(row.published_at),
  created_at: isoTime(row.created_at),
  updated_at: isoTime(row.updated_at),
})

/** A template with its newest version. */
export const templateObject = (template: Template) => ({
  ...templateItem({
    id: template.id,
    name: template.name,
    alias: template.alias,
    published_at: template.publishedAt,
    created_at: template.createdAt,
    updated_at: template.updatedAt,
  }),
  subject: template.subject,
  html: template.html,
  text: template.text,
  from: template.from,
  reply_to: template.replyTo.length === 0 ? null : template.replyTo,
  variables: template.variables.map(variableObject),
  layout: template.layout,
  version: template.liveNumber,
  is_outdated: template.isOutdated,
  has_unpublished_versions: template.versionId !== template.liveVersionId,
  current_version_id: template.versionId,
})

export const variableObject = ({ key, type, fallbackValue, createdAt, updatedAt }: DeclaredVariable) => ({
  key,
  type,
  fallback_value: fallbackValue,
  created_at: isoTime(createdAt),
  updated_at: isoTime(updatedAt),
})
