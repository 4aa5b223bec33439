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
import { DeliveryHistory } from '../../notify/webhook/delivery-history.ts'
import type { Webhooks } from '../../notify/webhook/open-webhooks.ts'
import { WebhookList } from '../../notify/webhook/webhook-list.ts'
import { needsServer, type CommandServices } from './command-services.ts'
import { openCore } from '../../api/core.ts'
import { operationClient } from '../../api/operation/operation-client.ts'

/**
 * Opens the data directory for a command while no server uses it. Only the copy that a restore checks is upgraded.
 * @throws SternaError `configuration` if another process holds it, its schema is that of another version, or the key file is not the one it
 *   was created with
 */
export async function openCommandServices(
  config: Config,
  log: Log,
  { isStaging = false } = {},
): Promise<{ services: CommandServices; close(): Promise<void> }> {
  const onFatal = (error: Error): void => log.error({ error }, 'the store has failed')
  const core = await openCore(config, { clock: systemClock, log, onFatal, isStaging, olderSchema: isStaging ? 'upgrade' : 'refuse' })
  try {
    const webhooks = new WebhookList({ ...core, onEnabled: () => {} }, { allowHttp: config.webhooks.allowHttp })
    await webhooks.load()
    const noteWaiting = (): void => {}
    const queueAdmin = new QueueAdmin({ ...core, noteWaiting, tryNow: () => {} })
    const erasures = new Erasures({ ...core, owner: newId('node', core.clock.now()) }, { isAlone: true })
    const messageParser = startMessageParser()
    const services = {
      ...coreServices({ ...core, webhookList: webhooks, queueAdmin, erasures, noteWaiting }),
      rollup: analyticsReader(core),
      messageParser,
      webhooks: withoutServer<Webhooks>({ list: webhooks, history: new DeliveryHistory({ ...core, wake: () => {} }) }, config.dataDir),
    }
    const perform = operationClient(apiOperations(withoutServer<ApiServices>(services, config.dataDir)), core)
    const close = (): Promise<void> => messageParser.stop().finally(core.close)
    return { services: { ...core, webhooks, queueAdmin, erasures, perform, follower: null }, close }
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
