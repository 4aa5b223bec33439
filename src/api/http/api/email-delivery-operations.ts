import { z } from 'zod'
import type { MessageReader } from '../../../mail/message/message-reader.ts'
import type { EmailDeliveryRow } from '../../../notify/webhook/delivery-history.ts'
import type { Webhooks } from '../../../notify/webhook/open-webhooks.ts'
import { listOperation } from '../../operation/list-operation.ts'
import type { Operation } from '../../operation/operation.ts'
import { resource } from '../../operation/resource.ts'
import { findMessage } from './email-reading-operations.ts'
import { webhookDelivery } from './webhook-resource.ts'

export interface EmailDeliveryServices {
  messages: MessageReader
  webhooks: Webhooks
}

export const emailDelivery = resource<EmailDeliveryRow>('EmailWebhookDelivery')({ ...webhookDelivery.fields, webhook_id: z.string() })

/** Which webhooks were told of an email. */
export const emailDeliveryOperations = ({ messages, webhooks }: EmailDeliveryServices): Operation[] => [
  listOperation({
    id: 'emails.list_webhook_deliveries',
    path: '/api/emails/{id}/webhook-deliveries',
    tag: 'Emails',
    summary: 'List what webhooks were told of an email',
    permission: 'read_access',
    of: emailDelivery,
    answer: 'The deliveries to all webhooks, newest first.',
    rows: async (call, page) => {
      const { id: emailId } = await findMessage(call, messages)
      return webhooks.history.ofEmail({ accountId: call.caller.accountId, emailId }, page)
    },
  }),
]
