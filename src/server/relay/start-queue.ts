import type { ClassicalHost } from '../../mail-out/delivery/classical-hosts.ts'
import { deliveryOptions, interfaceAddresses } from '../../mail-out/delivery/delivery-options.ts'
import { startDelivery, type Delivery } from '../../mail-out/delivery/delivery-threads.ts'
import type { ProviderStop } from '../../mail-out/delivery/provider-stops.ts'
import { ownFamilies, partsOfStop, stopKeys } from '../../mail-out/delivery/stop-key.ts'
import type { Told } from '../../mail-out/delivery/told.ts'
import { JobEnvelopes } from '../../mail-out/delivery/job-envelopes.ts'
import type { LoginNews } from '../../mail-out/delivery/login-gates.ts'
import { smarthostNamed } from '../../mail-out/delivery/smarthost.ts'
import { MessageIdentity } from '../../mail-out/delivery/message-identity.ts'
import { ResolverWatch } from '../../mail-out/delivery/resolver-watch.ts'
import { usableToken } from '../../mail-out/oauth/known-token.ts'
import { ClassicalHostList } from '../../mail-out/queue/classical-host-list.ts'
import { ProviderStopList } from '../../mail-out/queue/provider-stop-list.ts'
import type { DispatchServices } from '../../mail-out/queue/dispatch.ts'
import { QueueRunner } from '../../mail-out/queue/queue-runner.ts'
import type { Reprieve } from '../../mail-out/queue/reprieve.ts'
import { followRestored } from '../../mail-out/queue/restored-hold.ts'
import { unsubscribeKeys } from '../../mail/suppression/unsubscribe-token.ts'
import { TrackingLinks } from '../../readers/tracking/tracking-links.ts'
import { trackingKeys } from '../../readers/tracking/tracking-token.ts'
import type { SessionCounts } from '../../notify/tls-report/session-counts.ts'
import { checkSources } from './check-sources.ts'
import type { Certificates } from './open-certificates.ts'
import type { Opened } from './opened.ts'
import { SmarthostRefusals } from './smarthost-refusals.ts'
import type { Stop } from './stop.ts'
import { derivedFrom } from '../../platform/key-generations.ts'

/** ms that attempts get when the relay stops */
const graceMs = 4_000

type QueueServices = Opened & {
  certificates: Certificates
  reprieve: Reprieve
  /** True if the clock was set back while the server was off. */
  isClockBehind: boolean
  /** Null if no reports on TLS are sent. */
  sessionCounts: SessionCounts | null
}

/** Starts the delivery threads, and then the queue. */
export async function startQueue(services: QueueServices, stops: Stop[]): Promise<QueueRunner> {
  const { config, shares, health, log, metrics, metricsPage, accounts, nodes } = services
  if (config.mode !== 'sandbox') await checkSources(config.delivery.sourceAddresses, log)
  const resolverWatch = new ResolverWatch(services)
  const refusals = new SmarthostRefusals(services)
  metrics.deliveryConnectionsLimit.set(shares.delivery * config.delivery.threads)
  const delivery = startDelivery(
    {
      maxConnections: shares.delivery,
      maxNameServerSockets: shares.nameServers,
      newCells: () => metricsPage.newCells(),
      leaseCells: nodes.deadline.cells,
      partCells: nodes.parts.cells,
      ...deliveryOptions(config),
    },
    log,
    {
      tlsSessions: (sums) => services.sessionCounts?.add(sums),
      ...nameServersHeard(resolverWatch, health),
      classicalHost: (host) => keepHost(host, classicalHosts, log),
      destinationGroup: (destination, group) => queue.noteGroup(destination, group),
      providerStop: (stop) => keepStop(stop, providerStops, log),
      ...storedHeard(refusals, services),
    },
  )
  const classicalHosts = new ClassicalHostList(services, (host) => delivery.setClassicalHost(host))
  const providerStops = new ProviderStopList(services, (stop) => (delivery.setProviderStop(stop), holdBack(stop, queue, services)))
  const envelopes = jobEnvelopes({ ...services, delivery })
  const queue = new QueueRunner(
    {
      ...services,
      envelopeFor: (message) => envelopes.envelopeFor(message),
      choicesFor: choicesBy(services),
      deliver: (job, onAttempt, supply) => delivery.deliver(job, onAttempt, supply),
      isResolverSuspect: () => resolverWatch.isSuspect,
      isSuspended: (accountId) => accounts.isSuspended(accountId),
      holdsMail: (accountId) => accounts.holdsMail(accountId),
      random: Math.random,
    },
    { giveUpAfterMs: config.delivery.giveUpAfter },
  )
  // If it cannot start, the threads must still end, or the process would stay.
  stops.push(() => Promise.all([delivery.stop(graceMs), queue.stop(graceMs)]))
  followRestored(services)
  followDestinations(queue, services)
  await Promise.all([classicalHosts.load(), providerStops.load()])
  await followStored(delivery, refusals, services)
  await queue.start()
  if (services.isClockBehind) queue.clockSetBack()
  return queue
}

/** The queue holds back what no address may send. Where several may, the threads know which. */
function holdBack({ key, until, reason }: ProviderStop, queue: QueueRunner, { config }: QueueServices): void {
  const own = { sources: config.delivery.sourceAddresses, interfaceAddresses: interfaceAddresses() }
  const { group } = partsOfStop(key)
  const keys = stopKeys(group, own, ownFamilies(own))
  // Whatever has come to be of this machine's addresses meanwhile, the end of a stop counts.
  if (until === null) queue.noteStop(group, null)
  else if (keys.length === 1 && keys[0] === key) queue.noteStop(group, { key, until, reason })
}

/** Keeps what a thread has found of a host, for the others. */
function keepHost(host: ClassicalHost, classicalHosts: ClassicalHostList, log: QueueServices['log']): void {
  const failed = (error: unknown): void => log.warn({ host: host.key, error }, 'whether a host drops large hellos could not be stored')
  classicalHosts.set(host).catch(failed)
}

/** The same of a provider. */
function keepStop(stop: ProviderStop, providerStops: ProviderStopList, log: QueueServices['log']): void {
  const { key: group, until, reason } = stop
  if (until === null) log.info({ group }, 'mail to a provider flows again')
  else log.info({ group, until, reason }, 'a provider refuses our mail, and is sent nothing for now')
  providerStops.set(stop).catch((error: unknown) => log.warn({ group, error }, 'that a provider refuses our mail could not be stored'))
}

/** What follows from what the threads say of smarthosts and of MTA-STS policies. */
const storedHeard = (refusals: SmarthostRefusals, services: QueueServices) => ({
  ...stsHeard(services),
  login: (news: LoginNews) => refusals.note(news),
  smarthostTokenWanted: (serial: number) => services.smarthostTokens.renew(serial),
})

/** Where mail goes by the routes; null: as the settings say. */
const choicesBy =
  ({ sendingDomains, smarthostRoutes }: QueueServices): DispatchServices['choicesFor'] =>
  ({ accountId, domainId }, destination) =>
    smarthostRoutes.choicesFor(() => {
      const sendingDomain = domainId === null ? null : (sendingDomains.senderDomain(domainId)?.name ?? null)
      return { accountId, sendingDomain, destination }
    })

/** Tells the threads what this node and others have fetched, and fetch from now on. */
async function followStored(delivery: Delivery, refusals: SmarthostRefusals, services: QueueServices): Promise<void> {
  const { stsPolicies, smarthosts, smarthostTokens, health, clock } = services
  smarthosts.onChange(() => {
    delivery.setSmarthosts(smarthosts.list().map(smarthostNamed))
    refusals.forgetChanged()
  })
  await stsPolicies.follow((known) => delivery.setStsPolicy(known))
  await smarthostTokens.follow((known) => {
    delivery.setSmarthostToken(known)
    const { isOff, trouble: reason } = known
    // A provider that refuses needs a human. One that is down concerns nobody while there is a token.
    const isDown = reason !== null && !isOff && usableToken(known, clock.now()) === null
    health.set('smarthost_off', isOff, { reason })
    health.set('smarthost_token', isDown, { reason })
  })
}

/** What accounts that are resumed and other nodes say is due, and what other routes may free. */
function followDestinations(queue: QueueRunner, { accounts, changes, smarthostRoutes }: QueueServices): void {
  smarthostRoutes.onChange(() => queue.routesChanged(smarthostRoutes.list().length > 0))
  accounts.onResumed((accountId) => queue.accountResumed(accountId))
  const load = (): Promise<void> => queue.lookForWaiting()
  changes.on('due_destination', { load, reload: (destination) => queue.lookForWaiting(destination) })
  changes.on('retried_destination', { load, reload: async (destination) => queue.tryNow(destination) })
}

/** What follows from what the threads say of MTA-STS policies. */
function stsHeard({ stsPolicies, log }: QueueServices) {
  const noted = (domain: string, work: Promise<void>): Promise<boolean> =>
    work.then(
      () => true,
      (error: unknown) => {
        log.warn({ domain, error }, 'the MTA-STS policy of a domain could not be stored or read')
        return false
      },
    )
  return {
    stsWanted: (domain: string, id: string | null) =>
      noted(domain, id === null ? stsPolicies.reload(domain) : stsPolicies.fetch(domain, id)),
    stsUsed: (domain: string) => void noted(domain, stsPolicies.noteUsed(domain)),
  }
}

const nameServersHeard = (resolverWatch: ResolverWatch, health: QueueServices['health']): Pick<Told, 'lookUp' | 'unvalidated'> => ({
  lookUp: (lookUp) => resolverWatch.note(lookUp),
  unvalidated: (servers) => health.set('dnssec', servers.length > 0, { servers: servers.join(', ') }),
})

/** What delivery needs to know about a message in addition to the queue's data. */
function jobEnvelopes(services: QueueServices & { delivery: Delivery }): JobEnvelopes {
  const { secrets, certificates } = services
  const { baseUrl, tracking, http, delivery } = services.config
  const unsubscribeKeysNow = derivedFrom(secrets, unsubscribeKeys)
  const identity = new MessageIdentity({
    tokenKeys: derivedFrom(secrets, (deriveKey) => deriveKey('verp')),
    unsubscribe: () => ({ keys: unsubscribeKeysNow()[0], baseUrl }),
    feedbackSender: delivery.feedbackSender,
    reportService: delivery.smarthostReports,
  })
  // Browsers see only the certificates of HTTP.
  const isCertified = (host: string): boolean => http.tlsListen.length > 0 && certificates.server.covers(host)
  const links = new TrackingLinks({
    keys: derivedFrom(secrets, trackingKeys),
    baseUrl,
    hiddenLink: tracking.hiddenLink,
    isCertified: (host) => tracking.hosts === 'always' || isCertified(host),
  })
  return new JobEnvelopes({ ...services, identity, tracking: links })
}
