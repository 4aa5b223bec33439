import { z } from 'zod'
import { actorTypes, type Actor } from '../../account/audit-log.ts'
import { isoTime } from '../../iso-time.ts'
import type { DiffedPart } from '../../template/template-diff.ts'
import { publisherOf, type TemplateVersion, type VersionRow } from '../../template/template-version-store.ts'
import type { Dependent } from '../../template/template-versions.ts'
import { timeAnswer } from '../time-field.ts'
import { templateReference, variableAnswer, variableObject } from './template-object.ts'

const actorAnswer = z.object({ type: z.enum(actorTypes), id: z.string().nullable(), name: z.string() })

/** A published version in a list. */
export const versionItemAnswer = z
  .object({
    object: z.literal('template_version'),
    id: z.string(),
    number: z.int().describe('Counts the versions of a template from 1.'),
    published_at: timeAnswer,
    published_by: actorAnswer.nullable().describe('Null where it was not recorded.'),
    is_sent: z.boolean().describe('Whether it is the one that is sent.'),
  })
  .meta({ id: 'TemplateVersionItem' })

export const versionAnswer = versionItemAnswer
  .extend({
    subject: z.string().nullable(),
    html: z.string(),
    text: z.string().nullable(),
    from: z.string().nullable(),
    reply_to: z.array(z.string()).nullable(),
    variables: z.array(variableAnswer),
    layout: z.string().nullable(),
    sent_html: z.string().describe('What is sent of it: with its layout and partials, as they were when it was published.'),
    sent_text: z.string().nullable(),
  })
  .meta({ id: 'TemplateVersion' })

export const dependentAnswer = z
  .object({ object: z.literal('template'), id: z.string(), name: z.string(), alias: z.string().nullable(), is_outdated: z.boolean() })
  .meta({ id: 'TemplateDependent' })

export const publishedAnswer = templateReference
  .extend({
    version: z.int().describe('The number of the version that is sent now.'),
    outdated_dependents: z
      .array(dependentAnswer)
      .describe(
        'Templates that have this one as their layout or partial, and go on sending what it was before until they are published again.',
      ),
  })
  .meta({ id: 'PublishedTemplate' })

export const diffAnswer = z
  .object({
    object: z.literal('template_diff'),
    from: z.string().describe('`draft`, or the number of a version.'),
    to: z.string(),
    parts: z
      .array(
        z.object({
          part: z.enum(['subject', 'from', 'reply_to', 'layout', 'variables', 'text', 'html']),
          added: z.int().describe('Lines.'),
          removed: z.int(),
          diff: z.string().describe('Unified, three lines of context.'),
          truncated: z.boolean().describe('Whether `diff` is only the beginning.'),
        }),
      )
      .describe('Those that differ.'),
  })
  .meta({ id: 'TemplateDiff' })

export const versionItem = (row: VersionRow, liveNumber: number | null) =>
  versionHead({ id: row.id, number: row.number, publishedAt: row.published_at, publishedBy: publisherOf(row) }, liveNumber)

const versionHead = (
  { id, number, publishedAt, publishedBy }: { id: string; number: number; publishedAt: number; publishedBy: Actor | null },
  liveNumber: number | null,
) => ({
  object: 'template_version' as const,
  id,
  number,
  published_at: isoTime(publishedAt),
  published_by: publishedBy,
  is_sent: number === liveNumber,
})

export const versionObject = (version: TemplateVersion, liveNumber: number | null) => ({
  ...versionHead(version, liveNumber),
  subject: version.subject,
  html: version.html,
  text: version.text,
  from: version.from,
  reply_to: version.replyTo.length === 0 ? null : version.replyTo,
  variables: version.variables.map(variableObject),
  layout: version.layout,
  sent_html: version.sent ? version.sent.html : version.html,
  sent_text: version.sent ? version.sent.text : version.text,
})

export const dependentObject = ({ id, name, alias, state }: Dependent) => ({
  object: 'template' as const,
  id,
  name,
  alias,
  is_outdated: state === 'outdated',
})

export const diffObject = (from: string, to: string, parts: DiffedPart[]) => ({ object: 'template_diff' as const, from, to, parts })
