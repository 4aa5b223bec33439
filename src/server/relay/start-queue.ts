import type { ConnectionShares } from '../../platform/connection/open-files.ts'
import type { Core } from '../../api/core.ts'
import { deliveryOptions } from '../../mail-out/delivery/delivery-options.ts'
import { startDelivery, type Delivery } from '../../mail-out/delivery/delivery-threads.ts'
import { JobEnvelopes } from '../../mail-out/delivery/job-envelopes.ts'
import { MessageIdentity } from '../../mail-out/delivery/message-identity.ts'
import { ResolverWatch } from '../../mail-out/delivery/resolver-watch.ts'
import { QueueRunner } from '../../mail-out/queue/queue-runner.ts'
import type { Reprieve } from '../../mail-out/queue/reprieve.ts'
import { unsubscribeKeys } from '../../mail/suppression/unsubscribe-token.ts'
import { TrackingLinks } from '../../readers/tracking/tracking-links.ts'
import { trackingKeys } from '../../readers/tracking/tracking-token.ts'
import type { Stop } from './stop.ts'

/** ms that attempts get when the relay stops */
const graceMs = 4_000

interface QueueSurroundings {
  shares: ConnectionShares
  isCertified: (host: string) => boolean
  reprieve: Reprieve
  /** True if the clock was set back while the server was off. */
  isClockBehind: boolean
}

/** Starts the delivery threads, and then the queue. */
export async function startQueue(
  core: Core,
  { shares, isCertified, reprieve, isClockBehind }: QueueSurroundings,
  stops: Stop[],
): Promise<QueueRunner> {
  const { config, health, log, metrics, metricsPage } = core
  const resolverWatch = new ResolverWatch(core)
  metrics.deliveryConnectionsLimit.set(shares.delivery * config.delivery.threads)
  const delivery = startDelivery(
    {
      maxConnections: shares.delivery,
      maxNameServerSockets: shares.nameServers,
      newCells: () => metricsPage.newCells(),
      ...deliveryOptions(config),
    },
    log,
    {
      lookUp: (lookUp) => resolverWatch.note(lookUp),
      login: (reason) => health.set('smarthost_login', reason !== null, { reason }),
    },
  )
  const queue = newQueue(core, { delivery, resolverWatch, reprieve, envelopes: jobEnvelopes(core, { delivery, isCertified }) })
  // If it cannot start, the threads must still end, or the process would stay.
  stops.push(() => Promise.all([delivery.stop(graceMs), queue.stop(graceMs)]))
  core.accounts.onResumed((accountId) => queue.accountResumed(accountId))
  await queue.start()
  if (isClockBehind) queue.clockSetBack()
  return queue
}

/** What delivery needs to know about a message in addition to the queue's data. */
function jobEnvelopes(
  { config, secrets, sendingDomains }: Core,
  { delivery, isCertified }: { delivery: Delivery; isCertified: (host: string) => boolean },
): JobEnvelopes {
  const { baseUrl, tracking } = config
  const identity = new MessageIdentity({
    tokenKey: secrets.deriveKey('verp'),
    unsubscribe: { keys: unsubscribeKeys(secrets.deriveKey), baseUrl },
    feedbackSender: config.delivery.feedbackSender,
  })
  const links = new TrackingLinks({
    keys: trackingKeys(secrets.deriveKey),
    baseUrl,
    hiddenLink: tracking.hiddenLink,
    isCertified: (host) => tracking.hosts === 'always' || isCertified(host),
  })
  return new JobEnvelopes({ identity, sendingDomains, delivery, tracking: links })
}

function newQueue(
  { config, clock, log, health, metrics, db, accounts, policies, erasedAddress }: Core,
  around: { delivery: Delivery; resolverWatch: ResolverWatch; reprieve: Reprieve; envelopes: JobEnvelopes },
): QueueRunner {
  const { delivery, resolverWatch, reprieve, envelopes } = around
  return new QueueRunner(
    {
      db,
      clock,
      log,
      health,
      metrics,
      erasedAddress,
      envelopeFor: (message) => envelopes.envelopeFor(message),
      deliver: (job, onAttempt, supply) => delivery.deliver(job, onAttempt, supply),
      isResolverSuspect: () => resolverWatch.isSuspect,
      reprieve,
      policies,
      isSuspended: (accountId) => accounts.isSuspended(accountId),
      random: Math.random,
    },
    {
      giveUpAfterMs: config.delivery.giveUpAfter,
      viaSmarthost: config.delivery.smarthost !== null,
    },
  )
}
