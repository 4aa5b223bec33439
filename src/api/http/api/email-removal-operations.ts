import { z } from 'zod'
import { SternaError } from '../../../platform/errors.ts'
import type { MessageReader } from '../../../mail/message/message-reader.ts'
import { removeSandboxMail } from '../../../mail/message/remove-sandbox-mail.ts'
import type { Database } from '../../../platform/store/database.ts'
import { operation, type Operation } from '../../operation/operation.ts'
import { findMessage } from './email-reading-operations.ts'

export interface EmailRemovalServices {
  db: Database
  messages: MessageReader
}

const removedAnswer = z.object({ object: z.literal('emails'), deleted: z.int() }).meta({ id: 'DeletedEmails' })

const shared = { method: 'DELETE', tag: 'Emails', permission: 'full_access', sandbox: 'only' } as const

/** Mail of the sandbox is the only mail that can be removed: what was sent to people stays on record. */
export const emailRemovalOperations = ({ db, messages }: EmailRemovalServices): Operation[] => [
  operation({
    ...shared,
    id: 'emails.delete_all',
    path: '/api/emails',
    summary: 'Delete all emails of the sandbox',
    description: 'Only with a sandbox key or token. Emails that still wait, such as scheduled ones, stay: cancel them first.',
    answers: [{ status: 200, description: 'They are deleted.', schema: removedAnswer }],
    handle: async ({ caller }) => {
      const { accountId } = caller
      return { object: 'emails' as const, deleted: await removeSandboxMail(db, { accountId, messageId: null }) }
    },
  }),
  operation({
    ...shared,
    id: 'emails.delete',
    path: '/api/emails/{id}',
    summary: 'Delete an email of the sandbox',
    description: 'Only with a sandbox key or token.',
    answers: [{ status: 200, description: 'It is deleted.', schema: removedAnswer }],
    refuses: ['invalid_state'],
    handle: async (call) => {
      const { id: messageId } = await findMessage(call, messages)
      const deleted = await removeSandboxMail(db, { accountId: call.caller.accountId, messageId })
      if (deleted === 0) throw new SternaError('invalid_state', 'This email still waits. Cancel it first.')
      return { object: 'emails' as const, deleted }
    },
  }),
]
