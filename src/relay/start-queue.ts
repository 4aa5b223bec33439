import type { ConnectionShares } from '../connection/open-files.ts'
import type { Core } from '../core.ts'
import { deliveryOptions } from '../delivery/delivery-options.ts'
import { startDelivery, type Delivery } from '../delivery/delivery-threads.ts'
import { JobEnvelopes } from '../delivery/job-envelopes.ts'
import { MessageIdentity } from '../delivery/message-identity.ts'
import { ResolverWatch } from '../delivery/resolver-watch.ts'
import { isClockBehind } from '../event/newest-time.ts'
import { QueueRunner } from '../queue/queue-runner.ts'
import { unsubscribeKeys } from '../suppression/unsubscribe-token.ts'
import { TrackingLinks } from '../tracking/tracking-links.ts'
import { trackingKeys } from '../tracking/tracking-token.ts'
import type { Stop } from './stop.ts'

/** ms that attempts get when the relay stops */
const graceMs = 4_000

/** Starts the delivery threads, and then the queue. */
export async function startQueue(
  core: Core,
  { shares, isCertified }: { shares: ConnectionShares; isCertified: (host: string) => boolean },
  stops: Stop[],
): Promise<QueueRunner> {
  const { config, health, log, metrics, metricsPage } = core
  const resolverWatch = new ResolverWatch(core)
  metrics.deliveryConnectionsLimit.set(shares.delivery * config.delivery.threads)
  const delivery = startDelivery(
    {
      maxConnections: shares.delivery,
      maxNameServerSockets: shares.nameServers,
      newSheet: () => metricsPage.sheet(),
      ...deliveryOptions(config),
    },
    log,
    {
      lookUp: (lookUp) => resolverWatch.note(lookUp),
      login: (reason) => health.set('smarthost_login', reason !== null, { reason }),
    },
  )
  const queue = newQueue(core, { delivery, resolverWatch, envelopes: jobEnvelopes(core, { delivery, isCertified }) })
  // Before the queue writes anything.
  const isBehind = await isClockBehind(core)
  core.accounts.onResumed((accountId) => queue.accountResumed(accountId))
  await queue.start()
  if (isBehind) queue.clockSetBack()
  stops.push(() => Promise.all([delivery.stop(graceMs), queue.stop(graceMs)]))
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
  { config, clock, log, health, metrics, db, accounts, erasedAddress, suppressionPolicies }: Core,
  { delivery, resolverWatch, envelopes }: { delivery: Delivery; resolverWatch: ResolverWatch; envelopes: JobEnvelopes },
): QueueRunner {
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
      isSuspended: (accountId) => accounts.isSuspended(accountId),
      random: Math.random,
    },
    {
      retrySchedule: config.delivery.retrySchedule,
      viaSmarthost: config.delivery.smarthost !== null,
      suppressionPolicyFor: (accountId) => suppressionPolicies.policyFor(accountId),
    },
  )
}
