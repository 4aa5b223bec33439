import { z } from 'zod'
import { actorTypes } from '../../senders/account/audit-log.ts'
import type { DiffedPart } from '../../mail/template/template-diff.ts'
import { publisherOf, type TemplateVersion, type VersionRow } from '../../mail/template/template-version-store.ts'
import type { Dependent } from '../../mail/template/template-versions.ts'
import { resource, time } from '../operation/resource.ts'
import { templateContent, templateReference } from './template-resource.ts'

const actorAnswer = z.object({ type: z.enum(actorTypes), id: z.string().nullable(), name: z.string() })

const itemFields = {
  object: 'template_version',
  id: z.string(),
  number: z.int().describe('The versions of a template are numbered from 1.'),
  published_at: time(),
} as const
const publishedBy = actorAnswer.nullable().describe('Null if it was not recorded.')
const isSent = z.boolean().describe('Whether this version is sent now.')

/** A published version in a list. */
export const templateVersionItem = resource<VersionRow & { is_sent: number }>('TemplateVersionItem')({
  ...itemFields,
  published_by: [publishedBy, publisherOf],
  is_sent: [isSent, (row) => row.is_sent === 1],
})

export const templateVersion = resource<TemplateVersion & { isSent: boolean }>('TemplateVersion')({
  ...itemFields,
  published_by: publishedBy,
  is_sent: isSent,
  ...templateContent,
  sent_html: [
    z.string().describe('What is sent: with its layout and partials as they were when it was published.'),
    (version) => (version.sent ? version.sent.html : version.html),
  ],
  sent_text: [z.string().nullable(), (version) => (version.sent ? version.sent.text : version.text)],
})

export const templateDependent = resource<Dependent>('TemplateDependent')({
  object: 'template',
  id: z.string(),
  name: z.string(),
  alias: z.string().nullable(),
  is_outdated: [z.boolean(), ({ state }) => state === 'outdated'],
})

export const publishedAnswer = templateReference
  .extend({
    version: z.int().describe('The number of the version that is sent now.'),
    outdated_dependents: z
      .array(templateDependent.schema)
      .describe('Templates that use this one as a layout or partial, and keep sending its old version until they are published again.'),
  })
  .meta({ id: 'PublishedTemplate' })

export const diffAnswer = z
  .object({
    object: z.literal('template_diff'),
    from: z.string().describe('`draft`, or a version number.'),
    to: z.string(),
    parts: z
      .array(
        z.object({
          part: z.enum(['subject', 'from', 'reply_to', 'layout', 'variables', 'text', 'html']),
          added: z.int().describe('Lines.'),
          removed: z.int(),
          diff: z.string().describe('A unified diff with three lines of context.'),
          truncated: z.boolean().describe('Whether `diff` is cut off.'),
        }),
      )
      .describe('The parts that differ.'),
  })
  .meta({ id: 'TemplateDiff' })

export const diffObject = (from: string, to: string, parts: DiffedPart[]) => ({ object: 'template_diff' as const, from, to, parts })
