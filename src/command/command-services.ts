import type { Core } from '../core.ts'
import type { Erasures } from '../erasure/erasures.ts'
import type { QueueAdmin } from '../queue/queue-admin.ts'
import type { WebhookList } from '../webhook/webhook-list.ts'

/** What a serving process and a command without a server each open in their own way. */
interface OwnServices {
  webhooks: WebhookList
  queueAdmin: QueueAdmin
  erasures: Erasures
}

/** What commands work on: the services of a serving process, or of a command that opened the store itself. */
export interface CommandServices extends Omit<Core, 'close'>, OwnServices {}

export const commandPartsOf = (core: Core, { webhooks, queueAdmin, erasures }: OwnServices): CommandServices => ({
  webhooks,
  queueAdmin,
  erasures,
  ...core,
})
