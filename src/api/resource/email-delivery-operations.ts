import { z } from 'zod'
import type { EmailDeliveryRow } from '../../notify/webhook/delivery-history.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { resource } from '../operation/resource.ts'
import { findMessage } from './email-reading-operations.ts'
import { webhookDelivery } from './webhook-resource.ts'
import type { Needs } from './operation-services.ts'

export const emailDelivery = resource<EmailDeliveryRow>('EmailWebhookDelivery')({ ...webhookDelivery.fields, webhook_id: z.string() })

const at = operationsAt({ path: '/api/emails', tag: 'Emails', permission: 'read_access' })

/** Which webhooks were told of an email. */
export const emailDeliveryOperations = ({ messages, webhooks }: Needs<'messages' | 'webhooks'>): Operation[] => [
  at.list('emails.list_webhook_deliveries', '/{id}/webhook-deliveries', 'List what webhooks were told of an email', {
    answer: ['The deliveries to all webhooks, newest first.', emailDelivery],
    rows: async (call, page) => {
      const { id: emailId } = await findMessage(call, messages)
      return webhooks.history.ofEmail({ accountId: call.caller.accountId, emailId }, page)
    },
  }),
]
