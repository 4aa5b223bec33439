import { SternaError } from '../../platform/errors.ts'
import type { WrittenTemplate } from '../../mail/template/template-content.ts'
import { asSent } from '../../mail/template/template-diff.ts'
import type { TemplateList } from '../../mail/template/template-list.ts'
import type { Template } from '../../mail/template/template-store.ts'
import { versionsKept } from '../../mail/template/template-versions.ts'
import type { CallTo } from '../operation/call.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listOf, wholeList } from '../operation/page.ts'
import { choiceParameter, textParameter } from '../operation/query.ts'
import { publishSchema } from './template-schema.ts'
import {
  diffAnswer,
  diffObject,
  publishedAnswer,
  templateDependent,
  templateVersion,
  templateVersionItem,
} from './template-version-resource.ts'
import type { Needs } from './operation-services.ts'

/** bytes */
const bodyLimit = 512 * 1024

const at = operationsAt({ path: '/api/templates', tag: 'Templates', permission: { read: 'read_access', change: 'full_access' } })

/** Publishing a template, and its published versions. */
export const templateHistoryOperations = ({ templates }: Needs<'templates'>): Operation[] => [
  at.post('templates.publish', '/{idOrAlias}/publish', 'Publish a template', {
    description:
      'From now on the newest version is what is sent, with its layout and partials as they are published now. Where ' +
      'already published, nothing changes.',
    body: { schema: publishSchema, optional: true, limit: bodyLimit, example: { version: 'draft' } },
    answer: ['The template is published.', publishedAnswer],
    refuses: ['template_not_published'],
    handle: async (call) => {
      const how = { by: call.caller.actor, from: call.body.version ?? ('draft' as const) }
      return publishedObject(await templates.versions.publish(...named(call), how), templates)
    },
  }),
  at.get('templates.list_versions', '/{idOrAlias}/versions', 'List published versions', {
    description: `The newest ${versionsKept} published versions of a template, newest first.`,
    answer: ['All versions that are kept.', listOf(templateVersionItem.schema)],
    handle: async (call) => {
      const template = await templates.get(...named(call))
      return wholeList(
        (await templates.versions.list(template)).map((row) =>
          templateVersionItem.answer({ ...row, is_sent: row.number === template.liveNumber ? 1 : 0 }),
        ),
      )
    },
  }),
  at.get('templates.get_version', '/{idOrAlias}/versions/{number}', 'Read a published version', {
    answer: ['The version.', templateVersion.schema],
    handle: async (call) => {
      const template = await templates.get(...named(call))
      const version = await templates.versions.get(template, numberIn(call.params.number))
      return templateVersion.answer({ ...version, isSent: version.number === template.liveNumber })
    },
  }),
  at.post('templates.restore_version', '/{idOrAlias}/versions/{number}/restore', 'Restore a published version', {
    description:
      'Publishes it again as a new version: what is sent is exactly what was sent then, with the layout and ' +
      'partials of that time. An unpublished draft stays.',
    answer: ['The version is sent again.', publishedAnswer],
    handle: async (call) => {
      const restored = await templates.versions.restore(...named(call), numberIn(call.params.number), call.caller.actor)
      return publishedObject(restored, templates)
    },
  }),
  at.get('templates.compare', '/{idOrAlias}/diff', 'Compare two versions', {
    description:
      'By lines, as a unified diff of each part that differs. Between very different texts of several megabytes, diffs are ' +
      'correct but not the shortest possible.',
    query: {
      from: textParameter.meta({ description: '`draft`, a version number, or `published` (default).' }),
      to: textParameter.meta({ description: 'The same; default: `draft`.' }),
      view: choiceParameter(['source', 'sent']).meta({
        description: '`source` (default): as written. `sent`: with layouts and partials inserted.',
      }),
    },
    answer: ['The differences.', diffAnswer],
    refuses: ['template_not_published', 'validation_error'],
    handle: async (call) => {
      const template = await templates.get(...named(call))
      const from = await compared(template, call.query.from ?? 'published', { templates, isSent: call.query.view === 'sent' })
      const to = await compared(template, call.query.to ?? 'draft', { templates, isSent: call.query.view === 'sent' })
      return diffObject(from.name, to.name, await templates.work.diff(from.content, to.content))
    },
  }),
  at.get('templates.list_dependents', '/{idOrAlias}/dependents', 'List the templates that use this one', {
    description:
      'Those whose published version uses it as a layout or partial. What they send changes only when they are ' + 'published again.',
    answer: ['All of them.', listOf(templateDependent.schema)],
    handle: async (call) =>
      wholeList((await templates.versions.dependents(await templates.get(...named(call)))).map(templateDependent.answer)),
  }),
]

/** The account and the template. */
export const named = (call: CallTo<'idOrAlias'>): [accountId: string, idOrAlias: string] => [call.caller.accountId, call.params.idOrAlias]

/** A number that no version has, if there is none. */
const numberIn = (text: string | undefined): number => (/^[1-9]\d{0,8}$/.test(text ?? '') ? Number(text) : 0)

async function publishedObject(template: Template, { versions }: TemplateList) {
  const dependents = (await versions.dependents(template)).map(templateDependent.answer)
  return {
    object: 'template' as const,
    id: template.id,
    version: template.liveNumber ?? 0,
    outdated_dependents: dependents.filter((dependent) => dependent.is_outdated),
  }
}

/** @throws SternaError `invalid_parameter`, `not_found`, `template_not_published`, `validation_error` */
async function compared(
  template: Template,
  which: string,
  { templates: { versions }, isSent }: { templates: TemplateList; isSent: boolean },
): Promise<{ name: string; content: WrittenTemplate }> {
  if (which === 'draft') {
    const sent = isSent ? (await versions.resolve(template, template)).sent : null
    return { name: which, content: asSent(template, sent) }
  }
  if (which !== 'published' && numberIn(which) === 0) {
    throw new SternaError(
      'invalid_parameter',
      `A version is draft, published, or a number such as 3, not ${JSON.stringify(which.slice(0, 40))}.`,
    )
  }
  const version = which === 'published' ? await versions.live(template) : await versions.get(template, numberIn(which))
  return { name: String(version.number), content: isSent ? asSent(version, version.sent) : version }
}
