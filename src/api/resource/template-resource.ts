import { z } from 'zod'
import type { DeclaredVariable, WrittenTemplate } from '../../mail/template/template-content.ts'
import type { TemplateListRow } from '../../mail/template/template-list.ts'
import type { Template } from '../../mail/template/template-store.ts'
import { referenceTo, resource, time, timeOrNull } from '../operation/resource.ts'

/** The response to a change. */
export const templateReference = referenceTo('template').meta({ id: 'TemplateReference' })

export const deletedTemplate = templateReference.extend({ deleted: z.boolean() }).meta({ id: 'DeletedTemplate' })

const status = z.enum(['draft', 'published']).describe('`draft` until it is first published.')

/** A template in a list. */
export const templateItem = resource<TemplateListRow>('TemplateItem')({
  object: 'template',
  id: z.string(),
  name: z.string(),
  alias: z.string().nullable(),
  status: [status, (row) => (row.published_at === null ? 'draft' : 'published')],
  published_at: timeOrNull(),
  created_at: time(),
  updated_at: time(),
})

const templateVariable = resource<DeclaredVariable>('TemplateVariable')({
  key: z.string(),
  type: z.enum(['string', 'number']),
  fallback_value: z.union([z.string(), z.number()]).nullable().describe('Null: every email must give a value.'),
  created_at: time(),
  updated_at: time(),
})

/** What a version of a template holds. */
export const templateContent = {
  subject: z.string().nullable(),
  html: z.string(),
  text: z.string().nullable(),
  from: z.string().nullable(),
  reply_to: [z.array(z.string()).nullable(), ({ replyTo }: WrittenTemplate) => (replyTo.length === 0 ? null : replyTo)],
  variables: [z.array(templateVariable.schema), ({ variables }: WrittenTemplate) => variables.map(templateVariable.answer)],
  layout: z.string().nullable(),
} as const

/** A template with its newest version. */
export const templateResource = resource<Template>('Template')({
  ...templateItem.fields,
  status: [status, ({ publishedAt }) => (publishedAt === null ? 'draft' : 'published')],
  ...templateContent,
  text: z.string().nullable().describe('Null: made from the html. Empty: no text.'),
  layout: z.string().nullable().describe('Alias or id of its layout, the template that it is inserted into.'),
  version: [z.int().nullable().describe('The number of the version that is sent.'), 'liveNumber'],
  is_outdated: z
    .boolean()
    .describe('Whether a layout or partial in what is sent has since been published again. Publishing uses the new one.'),
  has_unpublished_versions: [
    z.boolean().describe('Whether what is shown here differs from what is sent.'),
    ({ versionId, liveVersionId }) => versionId !== liveVersionId,
  ],
  current_version_id: [z.string().describe('The version that is shown here: the newest.'), 'versionId'],
})

export const renderedAnswer = z
  .object({
    subject: z.string().nullable(),
    html: z.string(),
    text: z.string().nullable().describe('Null: made from the html when it is sent.'),
    missing: z.array(z.string()).describe('Variables with neither a value nor a fallback; an email without them is refused.'),
  })
  .meta({ id: 'RenderedTemplate' })
