import { systemClock } from '../../platform/clock.ts'
import type { Config } from '../../platform/config/settings.ts'
import { Erasures } from '../../upkeep/erasure/erasures.ts'
import { newId } from '../../platform/id.ts'
import type { Log } from '../../platform/log.ts'
import { startMessageParser } from '../../mail/message/message-parser.ts'
import { analyticsReader } from '../../readers/analytics/rollup.ts'
import { coreServices } from '../../api/core-services.ts'
import { apiOperations } from '../../api/resource/operations.ts'
import type { ApiServices } from '../../api/resource/operation-services.ts'
import { QueueAdmin } from '../../mail-out/queue/queue-admin.ts'
import type { Lane } from '../../mail-out/queue/queue-store.ts'
import { DeliveryHistory } from '../../notify/webhook/delivery-history.ts'
import type { Webhooks } from '../../notify/webhook/open-webhooks.ts'
import { WebhookList } from '../../notify/webhook/webhook-list.ts'
import { Tidings } from './tidings.ts'
import { needsServer, type CommandServices } from './command-services.ts'
import { aloneAs } from '../../platform/store/only-node.ts'
import { joiningFrom, openCore } from '../../api/core.ts'
import { operationClient } from '../../api/operation/operation-client.ts'

interface CommandPlace {
  /** True if the directory is only there to check a database. Such a copy is upgraded. */
  isStaging?: boolean
  /** Of this program, for a command that may change something. It is a node without duties, so that others leave it what it has in hand. */
  version?: string
}

/**
 * Opens the store for a command while no server uses the data directory; nodes on other machines may use the same database.
 * @throws SternaError `configuration` if another process holds the directory, its schema is that of another version, or the key file is not
 *   the one it was created with
 */
export async function openCommandServices(
  config: Config,
  log: Log,
  { isStaging = false, version }: CommandPlace = {},
): Promise<{ services: CommandServices; close(): Promise<void> }> {
  const onFatal = (error: Error): void => log.error({ error }, 'the store has failed')
  const olderSchema = isStaging ? 'upgrade' : 'refuse'
  const core = await openCore(config, { clock: systemClock, log, onFatal, isStaging, isCommand: true, olderSchema })
  try {
    const name = newId('node', core.clock.now())
    const nodes =
      version === undefined ? aloneAs(name) : await core.join({ ...joiningFrom(core), serves: false, version, log, onBuried: onFatal })
    await core.changes.caughtUp()
    const tidings = new Tidings(core)
    const webhooks = new WebhookList(
      { ...core, onEnabled: () => tidings.tell('enabled_webhook', '') },
      { allowHttp: config.webhooks.allowHttp },
    )
    await webhooks.load()
    const noteWaiting = ({ destination }: Pick<Lane, 'destination'>): void => tidings.tell('due_destination', destination)
    const tryNow = (destination: string): void => tidings.tell('retried_destination', destination)
    const queueAdmin = new QueueAdmin({ ...core, noteWaiting, tryNow })
    const erasures = new Erasures({ ...core, owner: nodes.self })
    const messageParser = startMessageParser()
    const services = {
      ...coreServices({ ...core, webhookList: webhooks, queueAdmin, erasures, noteWaiting }),
      rollup: analyticsReader(core),
      messageParser,
      webhooks: withoutServer<Webhooks>(
        { list: webhooks, history: new DeliveryHistory({ ...core, wake: (id) => tidings.tell('due_webhook', id) }) },
        config.dataDir,
      ),
    }
    const perform = operationClient(apiOperations(withoutServer<ApiServices>(services, config.dataDir)), core)
    const close = async (): Promise<void> => {
      try {
        await messageParser.stop()
        await tidings.told()
        await nodes.leave()
      } finally {
        await core.close()
      }
    }
    return { services: { ...core, webhooks, queueAdmin, erasures, perform, follower: null, owner: nodes.self }, close }
  } catch (error) {
    await core.close()
    throw error
  }
}

/** Services of a process without a server: an operation that uses one that is missing is refused. */
export function withoutServer<T extends object>(services: Partial<T>, dataDir: string): T {
  const refuse = (): never => {
    throw needsServer(dataDir)
  }
  // Operations look some services up when they are made, before anybody uses them.
  const missing = new Proxy(refuse, { get: refuse, apply: refuse })
  return new Proxy(services, { get: (target, name) => (name in target ? target[name as keyof T] : missing) }) as T
}
