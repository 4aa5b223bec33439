import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { removeSandboxMail } from '../../mail/message/remove-sandbox-mail.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { findMessage } from './email-reading-operations.ts'
import type { Needs } from './operation-services.ts'

const removedAnswer = z.object({ object: z.literal('emails'), deleted: z.int() }).meta({ id: 'DeletedEmails' })

const at = operationsAt({ path: '/api/emails', tag: 'Emails', permission: 'full_access', sandbox: 'only' })

/** Mail of the sandbox is the only mail that can be removed: what was sent to people stays on record. */
export const emailRemovalOperations = ({ db, messages }: Needs<'db' | 'messages'>): Operation[] => [
  at.remove('emails.delete_all', '', 'Delete all emails of the sandbox', {
    description: 'Only with a sandbox key or token. Emails that still wait, such as scheduled ones, stay: cancel them first.',
    answer: ['They are deleted.', removedAnswer],
    handle: async ({ caller }) => {
      const { accountId } = caller
      return { object: 'emails' as const, deleted: await removeSandboxMail(db, { accountId, messageId: null }) }
    },
  }),
  at.remove('emails.delete', '/{id}', 'Delete an email of the sandbox', {
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
