import type { Core } from '../../api/core.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Erasures } from '../../upkeep/erasure/erasures.ts'
import type { QueueAdmin } from '../../mail-out/queue/queue-admin.ts'
import type { EventFollower } from '../../mail/event/event-follower.ts'
import type { Accept } from '../../mail-in/submission/accept.ts'
import type { Webhooks } from '../../notify/webhook/open-webhooks.ts'
import type { WebhookList } from '../../notify/webhook/webhook-list.ts'

/** What a serving process and a command without a server each open in their own way. */
interface OwnServices {
  webhooks: WebhookList
  queueAdmin: QueueAdmin
  erasures: Erasures
  /** Null in a command that opened the store itself. */
  serving: Serving | null
}

/** What only a serving process has. */
interface Serving {
  accept: Accept
  follower: EventFollower
  sendSample: Webhooks['sendSample']
}

/** What commands work on: the services of a serving process, or of a command that opened the store itself. */
export interface CommandServices extends Omit<Core, 'close'>, OwnServices {}

export const commandPartsOf = (core: Core, { webhooks, queueAdmin, erasures, serving }: OwnServices): CommandServices => ({
  webhooks,
  queueAdmin,
  erasures,
  serving,
  ...core,
})

/** @throws SternaError `invalid_state` if no server runs */
export function requireServing({ serving, config }: CommandServices): Serving {
  if (serving) return serving
  const message = `No server runs on ${config.dataDir}, and this command needs one. Start it first.`
  throw new SternaError('invalid_state', message)
}
