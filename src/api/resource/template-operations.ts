import { asSent } from '../../mail/template/template-diff.ts'
import type { Template } from '../../mail/template/template-store.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { named, templateHistoryOperations } from './template-history-operations.ts'
import { deletedTemplate, renderedAnswer, templateItem, templateReference, templateResource } from './template-resource.ts'
import {
  changedTemplateFields,
  newTemplateFields,
  newTemplateSchema,
  renderSchema,
  renderUnsavedSchema,
  templateChangesSchema,
  unsavedContent,
} from './template-schema.ts'
import { templateTestOperations } from './template-test-operations.ts'
import type { Needs } from './operation-services.ts'

export type TemplateServices = Needs<'composer' | 'accept' | 'acceptBatch' | 'templates'>

/** `/api/templates`; live and sandbox share them. */
export const templateOperations = (services: TemplateServices): Operation[] => [
  at.list('templates.list', '', 'List templates', {
    answer: ['A page of templates, newest first.', templateItem],
    rows: ({ caller }, page) => services.templates.page(caller.accountId, page),
  }),
  at.get('templates.get', '/{idOrAlias}', 'Read a template', {
    description: 'By id or alias, with its newest version: the draft if it differs from what is sent.',
    answer: ['The template.', templateResource.schema],
    handle: async (call) => templateResource.answer(await services.templates.get(...named(call))),
  }),
  at.post('templates.render', '/{idOrAlias}/render', 'Render a template', {
    description:
      'Renders the newest version, published or not, with its layout and partials as they are ' + 'published now. Nothing is sent.',
    permission: 'read_access',
    sandbox: true,
    idempotency: 'none',
    body: { schema: renderSchema, optional: true, limit: variablesLimit, example: { variables: { name: 'Ann' } } },
    answer: ['What an email with these variables would contain.', renderedAnswer],
    handle: async (call) => {
      const template = await services.templates.get(...named(call))
      const content = asSent(template, (await services.templates.versions.resolve(template, template)).sent)
      return services.templates.work.render(content, call.body.variables ?? {}, rendering)
    },
  }),
  at.post('templates.render_unsaved', '/render', 'Render without saving', {
    description: 'Renders the given content as a template would be rendered, such as for an editor. Nothing is saved or sent.',
    permission: 'read_access',
    sandbox: true,
    idempotency: 'none',
    body: {
      schema: renderUnsavedSchema,
      limit: contentLimit,
      example: { subject: 'Welcome, {{name}}', html: '<p>Hello {{name}}</p>', variables: { name: 'Ann' } },
    },
    answer: ['What an email with these variables would contain.', renderedAnswer],
    handle: async ({ caller, body }) => {
      const content = await services.templates.preview(caller.accountId, unsavedContent(body))
      return services.templates.work.render(content, body.variables ?? {}, rendering)
    },
  }),
  at.post('templates.create', '', 'Create a template', {
    description: 'It is created as a draft: publish it before you send with it.',
    body: {
      schema: newTemplateSchema,
      limit: contentLimit,
      example: {
        name: 'Welcome',
        alias: 'welcome',
        subject: 'Welcome, {{name}}',
        html: '<p>Hello {{name}}, your plan is {{plan}}.</p>',
        variables: [{ key: 'plan', type: 'string', fallback_value: 'free' }],
      },
    },
    answer: ['The template is saved.', templateReference, 201],
    refuses: ['alias_taken'],
    handle: async ({ caller, body }) => referenceTo(await services.templates.create(caller.accountId, newTemplateFields(body))),
  }),
  at.patch('templates.update', '/{idOrAlias}', 'Change a template', {
    description:
      'Changes the fields that are given; null removes a value. What is sent stays the same until the template is published again. ' +
      'A new name or alias takes effect at once.',
    body: { schema: templateChangesSchema, limit: contentLimit, example: { subject: 'Welcome to Example, {{name}}' } },
    answer: ['The template is saved.', templateReference],
    refuses: ['alias_taken'],
    handle: async (call) => referenceTo(await services.templates.change(...named(call), changedTemplateFields(call.body))),
  }),
  at.remove('templates.delete', '/{idOrAlias}', 'Delete a template', {
    description:
      'With all its versions. Emails that were sent with it stay as they are, and so does what is published with it ' +
      'as a layout or partial.',
    answer: ['The template is deleted.', deletedTemplate],
    handle: async (call) => ({ ...referenceTo(await services.templates.remove(...named(call))), deleted: true }),
  }),
  at.post('templates.duplicate', '/{idOrAlias}/duplicate', 'Duplicate a template', {
    description: 'The copy is a separate, unpublished template with the content of the newest version and no alias.',
    answer: ['The copy.', templateReference, 201],
    refuses: ['validation_error'],
    handle: async (call) => referenceTo(await services.templates.duplicate(...named(call))),
  }),
  ...templateHistoryOperations(services),
  ...templateTestOperations(services),
]

/** bytes; html and text, and their JSON escapes */
const contentLimit = 16 * 1024 * 1024
/** bytes */
const variablesLimit = 512 * 1024

const referenceTo = ({ id }: Template) => ({ object: 'template' as const, id })

const at = operationsAt({ path: '/api/templates', tag: 'Templates', permission: { read: 'read_access', change: 'full_access' } })

const rendering = { field: 'variables', isComplete: false }
