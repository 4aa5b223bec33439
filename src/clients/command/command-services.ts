import type { Core } from '../../api/core.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Erasures } from '../../upkeep/erasure/erasures.ts'
import type { QueueAdmin } from '../../mail-out/queue/queue-admin.ts'
import type { EventFollower } from '../../mail/event/event-follower.ts'
import type { Accept } from '../../mail-in/submission/accept.ts'
import type { WebhookList } from '../../notify/webhook/webhook-list.ts'
import type { OperationClient } from '../../api/operation/operation-client.ts'

/** What a serving process and a command without a server each open in their own way. */
interface OwnServices {
  webhooks: WebhookList
  queueAdmin: QueueAdmin
  erasures: Erasures
  /** Carries out an operation of the API, as every client does. */
  perform: OperationClient
  /** Null in a command that opened the store itself. */
  serving: Serving | null
}

/** What only a serving process has. */
interface Serving {
  accept: Accept
  follower: EventFollower
}

/** What commands work on: the services of a serving process, or of a command that opened the store itself. */
export interface CommandServices extends Omit<Core, 'close'>, OwnServices {}

/** @throws SternaError `invalid_state` if no server runs */
export function requireServing({ serving, config }: CommandServices): Serving {
  if (serving) return serving
  throw needsServer(config.dataDir)
}

export const needsServer = (dataDir: string): SternaError =>
  new SternaError('invalid_state', `No server runs on ${dataDir}, and this command needs one. Start it first.`)
