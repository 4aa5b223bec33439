import { numberOfId } from '../../../platform/id.ts'
import type { Accepted } from '../../../mail-in/submission/admission.ts'
import { maxRecipients } from '../../resource/email-submission.ts'
import { SternaError } from '../../../platform/errors.ts'
import type { ApiContext } from '../api-state.ts'
import type { EmailRequest } from '../../resource/email-request.ts'
import { sendEmail } from '../../resource/send-emails.ts'
import { compatJson, tellIds, type CompatApi, type CompatServices } from './compat-api.ts'
import { mimeSubmission } from './mime-submission.ts'
import { postalAnswerSchema, postalRefusal, postalSuccess } from './postal-answer.ts'
import { fromPostal, fromPostalRaw } from './postal-email.ts'
import { postalMessageActions } from './postal-messages.ts'

/**
 * `/compat/postal`: `send/message`, `send/raw`, `messages/message` and `messages/deliveries` below `/api/v1`. A message of Postal has one
 * recipient: its `id` is that of ours as a number, its `token` the same as we write it. As with Postal, the answer is 200 also where
 * something is refused.
 */
export const postalApi = (services: CompatServices): CompatApi => ({
  prefix: '/compat/postal',
  service: 'Postal',
  security: { type: 'apiKey', in: 'header', name: 'X-Server-API-Key', description: 'An API key, as clients of Postal send it.' },
  tokenOf: (ctx) => ctx.get('X-Server-API-Key').trim() || null,
  takesIdempotencyKey: true,
  mediaType: 'application/json',
  refusalForm: postalRefusal,
  refusal: postalAnswerSchema,
  bodyRoom: services.bodyRoom,
  routes: [
    {
      path: '/api/v1/send/message',
      answers: { 200: postalAnswerSchema },
      send: async (ctx, request) => answer(ctx, await sendEmail(fromPostal(await compatJson(ctx)), request, services)),
    },
    {
      path: '/api/v1/send/raw',
      answers: { 200: postalAnswerSchema },
      send: async (ctx, request) => answer(ctx, await sendRaw(ctx, request, services)),
    },
  ],
  actions: postalMessageActions(services),
})

async function sendRaw(ctx: ApiContext, { submitter, idempotencyKey }: EmailRequest, services: CompatServices): Promise<Accepted> {
  const { recipients, content } = fromPostalRaw(await compatJson(ctx))
  if (recipients.length > maxRecipients) {
    throw new SternaError('too_many_recipients', `The message has ${recipients.length} recipients; \`rcpt_to\` may name ${maxRecipients}.`)
  }
  const options = { tags: [], metadata: {}, scheduledAt: undefined, tracking: undefined, isTest: false }
  const clientAddress = services.traceClients ? ctx.state.clientAddress : null
  const message = { content, recipients, options, submitter, idempotencyKey, clientAddress }
  return services.accept(await mimeSubmission(message, { ...services, now: services.clock.now() }))
}

function answer(ctx: ApiContext, accepted: Accepted): void {
  tellIds(ctx, [accepted], accepted)
  const messages = accepted.recipients.map(({ id, address }) => [address, { id: numberOfId(id), token: id }])
  ctx.status = 200
  ctx.body = postalSuccess({ message_id: accepted.messageIdHeader.replace(/^<|>$/g, ''), messages: Object.fromEntries(messages) })
}
