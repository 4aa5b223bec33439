import { asSent } from '../../mail/template/template-diff.ts'
import { idempotencyKeyOf } from '../operation/idempotency-key.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { sentEmail } from './email-resource.ts'
import { marked, sendingRefusals, submitterOf } from './email-sending-operations.ts'
import { sendEmail } from './send-emails.ts'
import { testSchema } from './template-schema.ts'
import { linkVariable } from './unsubscribe-link.ts'
import type { Needs } from './operation-services.ts'

/** bytes; variables, and little else */
const bodyLimit = 512 * 1024

/** Marks an email as a test. */
const testTag = 'template_test'

const at = operationsAt({ path: '/api/templates', tag: 'Templates', permission: 'full_access', sandbox: true })

/** Sends a template to somebody who wants to see it. */
export const templateTestOperations = (services: Needs<'composer' | 'accept' | 'acceptBatch' | 'templates'>): Operation[] => [
  at.post('templates.test', '/{idOrAlias}/test', 'Send a test', {
    description:
      'Sends the newest version, published or not, to one address. It is an ordinary email, except that it has the tag ' +
      `\`${testTag}\`, which names the template, and no \`template_id\`.`,
    idempotency: 'own',
    body: {
      schema: testSchema,
      limit: bodyLimit,
      example: { to: 'user@example.net', from: 'App <app@example.com>', variables: { name: 'Ann' }, version: 'draft' },
    },
    answer: ['The email is queued.', sentEmail.schema],
    refuses: [...sendingRefusals, 'invalid_from_address', 'template_not_published', 'missing_template_variable'],
    handle: async (call) => {
      const { versions } = services.templates
      const template = await services.templates.get(call.caller.accountId, call.params.idOrAlias)
      const version = call.body.version === 'published' ? await versions.live(template) : null
      const content = version ? asSent(version, version.sent) : asSent(template, (await versions.resolve(template, template)).sent)
      const variables = { ...(call.body.unsubscribe ? linkVariable : {}), ...call.body.variables }
      // A subject that is not used needs no variables.
      const used = call.body.subject ? { ...content, subject: null } : content
      const rendered = await services.templates.work.render(used, variables, { field: 'variables', isComplete: true })
      const email = {
        from: call.body.from ?? content.from ?? undefined,
        to: call.body.to,
        reply_to: content.replyTo,
        subject: call.body.subject ?? rendered.subject ?? undefined,
        html: rendered.html,
        text: rendered.text,
        tags: [{ name: testTag, value: template.alias ?? template.id }],
        unsubscribe: call.body.unsubscribe,
      }
      const request = {
        submitter: submitterOf(call.caller),
        source: 'api' as const,
        isStrict: false,
        idempotencyKey: idempotencyKeyOf(call.headers),
      }
      return sentEmail.answer(marked(call.reply, await sendEmail(email, request, services)))
    },
  }),
]
