import { systemClock } from '../../platform/clock.ts'
import type { Config } from '../../platform/config/settings.ts'
import { Erasures } from '../../upkeep/erasure/erasures.ts'
import type { Log } from '../../platform/log.ts'
import { QueueAdmin } from '../../mail-out/queue/queue-admin.ts'
import { WebhookList } from '../../notify/webhook/webhook-list.ts'
import { commandPartsOf, type CommandServices } from './command-services.ts'
import { openCore } from '../../api/core.ts'

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
  const { db, clock, health, secrets, close } = core
  try {
    const webhooks = new WebhookList({ db, clock, secrets, onEnabled: () => {} }, { allowHttp: config.webhooks.allowHttp })
    await webhooks.load()
    const queueAdmin = new QueueAdmin({ db, clock, health, noteWaiting: () => {}, tryNow: () => {} })
    const erasures = new Erasures(core, { isAlone: true })
    return { services: commandPartsOf(core, { webhooks, queueAdmin, erasures, serving: null }), close }
  } catch (error) {
    await close()
    throw error
  }
}
