import type { Core } from '../../api/core.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Erasures } from '../../upkeep/erasure/erasures.ts'
import type { QueueAdmin } from '../../mail-out/queue/queue-admin.ts'
import type { EventFollower } from '../../mail/event/event-follower.ts'
import type { WebhookList } from '../../notify/webhook/webhook-list.ts'
import type { OperationClient } from '../../api/operation/operation-client.ts'

/** What commands work on: the services of a serving process, or of a command that opened the store itself. */
export interface CommandServices extends Omit<Core, 'close'> {
  webhooks: WebhookList
  queueAdmin: QueueAdmin
  erasures: Erasures
  /** Carries out an operation of the API, as every client does. */
  perform: OperationClient
  /** The name of this process among the nodes. */
  owner: string
  /** Only a serving process has one. */
  follower: EventFollower | null
}

/** @throws SternaError `invalid_state` if no server runs */
export function requireServing({ follower, config }: CommandServices): EventFollower {
  if (follower) return follower
  throw needsServer(config.dataDir)
}

export const needsServer = (dataDir: string): SternaError =>
  new SternaError('invalid_state', `No server runs on ${dataDir}, and this command needs one. Start it first.`)
