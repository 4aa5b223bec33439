import { z } from 'zod'
import { SternaError, type FieldFault } from '../../platform/errors.ts'
import type { MessageReader } from '../../mail/message/message-reader.ts'
import type { MessageRow } from '../../mail/message/message-store.ts'
import { accountSuspended } from '../../mail-in/submission/authorise.ts'
import type { CallTo } from '../operation/call.ts'
import { idempotencyOf } from '../operation/idempotency-key.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { refusal } from '../operation/validate.ts'
import { findMessage } from './email-reading-operations.ts'
import { readSchedule } from './email-schema.ts'
import { changedEmailAnswer, sentEmail } from './email-resource.ts'
import { marked, sendingRefusals, submitterOf } from './email-sending-operations.ts'
import type { Needs } from './operation-services.ts'
import { removeSandboxMail } from '../../mail/message/remove-sandbox-mail.ts'

type Services = Needs<'clock' | 'db' | 'messages' | 'waitingMail' | 'resend' | 'isSuspended'>

const rescheduleRequest = z.object({
  scheduled_at: z
    .string()
    .max(64)
    .describe('ISO 8601 with a time zone, at most 30 days ahead; a time in the past sends the email at once.'),
})

const at = operationsAt({ path: '/api/emails', tag: 'Emails', permission: 'sending_access', sandbox: true })

/** What can be done with an email under `/api/emails` after it was accepted. */
export const emailChangeOperations = (services: Services): Operation[] => [
  at.patch('emails.update', '/{id}', 'Reschedule an email', {
    body: { schema: rescheduleRequest, example: { scheduled_at: '2026-12-01T08:00:00Z' } },
    answer: ['The email has the new time.', changedEmailAnswer],
    refuses: ['invalid_state', 'account_suspended'],
    handle: async (call) => {
      const { id } = await findOwnMessage(call, services.messages)
      // A time in the past would send it.
      if (services.isSuspended(call.caller.accountId)) throw accountSuspended()
      const faults: FieldFault[] = []
      const at = readSchedule(call.body.scheduled_at, services.clock.now(), faults)
      if (faults.length > 0) throw refusal(faults)
      await services.waitingMail.reschedule(id, at)
      return { object: 'email' as const, id }
    },
  }),
  at.post('emails.cancel', '/{id}/cancel', 'Cancel an email', {
    description:
      'Possible while it is scheduled, or while it is queued for all recipients and is not being sent to any of them. An email ' +
      'that is already canceled stays canceled.',
    answer: ['The email is canceled for all of its recipients.', changedEmailAnswer],
    refuses: ['invalid_state'],
    handle: async (call) => {
      const { id, subject } = await findOwnMessage(call, services.messages)
      const { accountId, sandbox } = call.caller
      await services.waitingMail.cancel({ id, subject, accountId, sandbox })
      return { object: 'email' as const, id }
    },
  }),
  at.post('emails.resend', '/{id}/resend', 'Send an email again to recipients that it did not reach', {
    description:
      'Makes a new email of the stored content, for the recipients that bounced, failed or were suppressed. Those who are on the ' +
      'suppression list are left out; if nobody remains, the answer is 409.',
    idempotency: 'own',
    answer: ['The new email is queued.', sentEmail.schema],
    refuses: ['invalid_state', ...sendingRefusals],
    handle: async (call) => {
      const idempotency = idempotencyOf({ ...call, query: '' }, { operation: 'resend', body: null, holder: null })
      const { id } = await findMessage(call, services.messages)
      return sentEmail.answer(marked(call.reply, await services.resend(id, { submitter: submitterOf(call.caller), idempotency })))
    },
  }),
  ...removalOperations(services),
]

/**
 * The message in the path; a key limited to one domain cannot change mail of another.
 * @throws SternaError `not_found`, `restricted_api_key`
 */
async function findOwnMessage(call: CallTo<'id'>, messages: MessageReader): Promise<MessageRow> {
  const message = await findMessage(call, messages)
  const { domainId, sandbox } = call.caller
  if (domainId === null || sandbox || message.domain_id === domainId) return message
  throw new SternaError('restricted_api_key', 'This API key cannot change the mail of another domain.')
}

const removedAnswer = z.object({ object: z.literal('emails'), deleted: z.int() }).meta({ id: 'DeletedEmails' })

const inSandbox = operationsAt({ path: '/api/emails', tag: 'Emails', permission: 'full_access', sandbox: 'only' })

/** Mail of the sandbox is the only mail that can be removed: what was sent to people stays on record. */
const removalOperations = ({ db, messages }: Pick<Services, 'db' | 'messages'>): Operation[] => [
  inSandbox.remove('emails.delete_all', '', 'Delete all emails of the sandbox', {
    description: 'Only with a sandbox key or token. Emails that still wait, such as scheduled ones, stay: cancel them first.',
    answer: ['They are deleted.', removedAnswer],
    handle: async ({ caller }) => {
      const { accountId } = caller
      return { object: 'emails' as const, deleted: await removeSandboxMail(db, { accountId, messageId: null }) }
    },
  }),
  inSandbox.remove('emails.delete', '/{id}', 'Delete an email of the sandbox', {
    description: 'Only with a sandbox key or token.',
    answer: ['It is deleted.', removedAnswer],
    refuses: ['invalid_state'],
    handle: async (call) => {
      const { id: messageId } = await findMessage(call, messages)
      const deleted = await removeSandboxMail(db, { accountId: call.caller.accountId, messageId })
      if (deleted === 0) throw new SternaError('invalid_state', 'This email still waits. Cancel it first.')
      return { object: 'emails' as const, deleted }
    },
  }),
]
