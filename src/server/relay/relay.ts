import type { CommandServices } from '../../clients/command/command-services.ts'
import { operationClient } from '../../api/operation/operation-client.ts'
import type { Config } from '../../platform/config/settings.ts'
import { takeOver, type ConfigChanges } from '../../platform/config/take-over.ts'
import { connectionShares, judgeOpenFiles, openFileLimit, type ConnectionShares } from '../../platform/connection/open-files.ts'
import { ContinuousCopy } from '../../upkeep/backup/continuous-copy.ts'
import { joiningFrom, openCore, type Environment } from '../../api/core.ts'
import { loadDashboard } from '../../api/http/dashboard-bundle.ts'
import type { FetchFromSns } from '../../mail-back/smarthost-report/sns-certificates.ts'
import type { WebhookPoster } from '../../notify/webhook/post-webhook.ts'
import { noteMachine } from '../../upkeep/machine-change.ts'
import { SternaError } from '../../platform/errors.ts'
import { NodeReporter } from '../../upkeep/node-reporter.ts'
import { requireFiles } from '../../platform/store/store.ts'
import { openListeners, type ListenAddresses } from './listeners.ts'
import { keepWatchOfClock, startJobs } from './jobs.ts'
import { startServices } from './services.ts'
import { start, stopAll, type Stop } from './stop.ts'

/** A running relay. */
export interface Relay {
  services: CommandServices
  addresses: ListenAddresses
  /** Takes over the settings that may change while it runs, and looks for a new certificate. */
  reload(next: Config): Promise<ConfigChanges>
  /**
   * Accepts nothing more, waits a few seconds for what is under way, and leaves the rest to the next start. Services stop one after the
   * other, each within its grace period: nine seconds in all, of the ten that a container gets.
   */
  stop(): Promise<void>
}

/** What a relay is given beside its settings. */
export interface RelayEnvironment extends Environment {
  version: string
  /** Builds or reads the files of the dashboard; default: `loadDashboard`. */
  loadDashboard?: typeof loadDashboard
  /** Posts reports on TLS; default: one that posts to public addresses only. */
  reportPoster?: Pick<WebhookPoster, 'post'>
  /** Fetches certificates and confirmations from Amazon SNS; default: from public addresses. */
  fetchFromSns?: FetchFromSns
}

/**
 * Builds every service and starts them from the end of a message's way, so that nothing is accepted
 * before it can be delivered and reported.
 * @throws SternaError `configuration` if a setting does not work on this machine
 */
export async function startRelay(config: Config, outside: RelayEnvironment): Promise<Relay> {
  const shares = sharesOf(openFileLimit(), config, outside)
  const { continuous, copyLimit, schedule } = config.backup
  const core = await openCore(config, { ...outside, nameServerSockets: shares.nameServers, copyLimit: continuous ? copyLimit : undefined })
  const stops: Stop[] = [() => core.close()]
  const stop = (): Promise<void> => stopAll(stops, outside.log)
  try {
    await noteMachine(core)
    if (schedule !== null) requireFiles(core.files, 'backupSchedule')
    if (!continuous) core.metrics.copyBehind.set(Number.NaN)
    else await start(new ContinuousCopy({ ...core, files: requireFiles(core.files, 'continuousCopy') }), stops)
    const { version, log, onFatal } = outside
    const nodes = await core.join({ ...joiningFrom(core), serves: true, version, log, onBuried: onFatal })
    stops.push(() => nodes.leave())
    // Another key may be in use since the key file was read. From now on this node must have it first.
    await core.changes.caughtUp()
    const reporter = await start(new NodeReporter({ ...core, nodes }), stops)
    const { reportPoster, fetchFromSns } = outside
    const given = { shares, version, reporter, loadDashboard: outside.loadDashboard ?? loadDashboard, reportPoster, fetchFromSns }
    core.quotas.join(nodes)
    const services = await startServices({ ...core, ...given, nodes, owner: nodes.self }, stops)
    const listeners = await openListeners(services, stops)
    const scheduler = await startJobs({ ...services, ...listeners }, stops)
    keepWatchOfClock(services, scheduler, stops)
    await nodes.watch()
    const reload = async (next: Config): Promise<ConfigChanges> => {
      const changes = takeOver(config, next)
      await services.certificates.renewal.look()
      void services.certificates.acme?.retry()
      return changes
    }
    const perform = operationClient(listeners.operations, core)
    const ofCommands = { ...services, webhooks: services.webhooks.list, perform }
    return { services: ofCommands, addresses: listeners.addresses, reload, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** @throws SternaError `configuration` if the limit on open files is too low */
function sharesOf(limit: number, { delivery }: Config, { log }: Pick<Environment, 'log'>): ConnectionShares {
  const { status, what, advice } = judgeOpenFiles(limit)
  if (status === 'failed') throw new SternaError('configuration', `${what} ${advice}`)
  if (status === 'warning') log.warn({ openFiles: limit }, `${what} ${advice}`)
  return connectionShares(limit, delivery.threads)
}
