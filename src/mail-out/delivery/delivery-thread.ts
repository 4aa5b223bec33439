/** A delivery thread: resolves routes, signs and transfers, and holds the connections. Started by delivery-threads.ts. */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { dnsResolver } from '../../platform/dns/dns-resolver.ts'
import { messageOf } from '../../platform/errors.ts'
import { metricsOf } from '../../platform/metrics/metrics.ts'
import { LeaseDeadline } from '../../platform/store/lease-deadline.ts'
import { LimitParts } from '../../platform/store/limit-parts.ts'
import { noteShared } from '../../platform/shared-memory.ts'
import type { Attempt, DeliveryJob, Postponed } from './attempt.ts'
import { ClassicalHosts } from './classical-hosts.ts'
import { SourceChoice } from './choose-source.ts'
import { ConnectionPool } from './connection-pool.ts'
import { ContentRequests } from './content-requests.ts'
import { DaneHosts } from './dane-hosts.ts'
import { deliver } from './deliver.ts'
import type { DeliverServices } from './transferring.ts'
import type { DeliverySettings, FromThread, ToThread } from './delivery-messages.ts'
import { standardTimeouts } from './delivery-timeouts.ts'
import { DkimSigner } from './dkim-sign.ts'
import { HostHealth } from './host-health.ts'
import { Ipv6Refusals } from './ipv6-refusals.ts'
import { LoginGates } from './login-gates.ts'
import { readProviders } from './mx-provider.ts'
import { Outbox } from './outbox.ts'
import { PipeliningTroubles } from './pipelining-troubles.ts'
import { ProviderStops } from './provider-stops.ts'
import { standardWaitMs } from './pool-limits.ts'
import { ownFamilies } from './stop-key.ts'
import { hostKey, ownNames } from './route.ts'
import { SessionTally } from './session-tally.ts'
import { SmarthostAccess } from './smarthost-access.ts'
import type { ConnectionTls } from './transport-facts.ts'
import { postQuantumGroup, trustContexts } from './tls-policy.ts'
import { StsLookup } from './sts-lookup.ts'
import { TlsSessions } from './tls-sessions.ts'
import { TlsTroubles } from './tls-trouble.ts'

const messagesPerPrivateConnection = 1000

const port = parentPort as MessagePort
const settings = workerData as DeliverySettings
const outbox = new Outbox<FromThread>((messages) => port.postMessage(messages))
const metrics = metricsOf(settings.sharedCells)
// Nothing is left of the thread that this one replaces.
metrics.deliveryConnections.set(0)
const resolver = dnsResolver({
  servers: settings.dnsServers,
  dnssecProbe: settings.dnssecProbe ?? null,
  maxSockets: settings.maxNameServerSockets ?? Infinity,
  noteLookUp: (result) => metrics.lookUps[result].add(),
  noteUnvalidated: (servers) => outbox.add({ type: 'unvalidated', servers }),
})
readProviders()
const sessionTally = settings.countsSessions ? new SessionTally((sums) => outbox.add({ type: 'tls sessions', sums })) : null
const services = deliverServices()
const work = new Set<Promise<void>>()

// Known results must not be lost in a crash, or the mail would be sent again.
process.on('uncaughtExceptionMonitor', () => outbox.flush())

port.on('message', (messages: ToThread[]) => {
  for (const message of messages) receive(message)
})

function receive(message: ToThread): void {
  switch (message.type) {
    case 'job': {
      const { job } = message
      if (job.content !== 'on request') noteShared(job.content.length)
      return begin(job)
    }
    case 'content':
      if (message.content instanceof Uint8Array) noteShared(message.content.length)
      return services.contents.answer(message.jobId, message.content)
    case 'key':
      return addKey(message.id, message.der)
    case 'drop key':
      return services.signer.dropKey(message.id)
    case 'listeners':
      services.route.guard.ownListeners = message.listeners
      return
    case 'classical host':
      return services.connection.classicalHosts.learn(message.host)
    case 'provider stop':
      return services.providerStops.learn(message.stop)
    case 'mta-sts':
      return services.sts?.learn(message.known)
    case 'mta-sts partial':
      return services.sts?.learnPartial()
    case 'mta-sts answer':
      return services.sts?.answered(message.domain, message.id, message.isRead)
    case 'smarthosts':
      services.smarthosts = new Map(message.smarthosts.map((each) => [each.name ?? '', each]))
      return
    case 'smarthost token':
      return services.connection.smarthostAccess.learn(message.known)
    case 'stop':
      void stop(message.graceMs)
  }
}

function begin(job: DeliveryJob): void {
  let last: Extract<FromThread, { type: 'attempt' }> | undefined
  let turn = outbox.turn
  const onAttempt = (result: Attempt | Postponed): void => {
    last = { type: 'attempt', jobId: job.id, result, isLast: false, isUnread: false }
    turn = outbox.turn
    outbox.add(last)
  }
  const delivery = deliver(job, onAttempt, services).then((isUnread) => {
    work.delete(delivery)
    if (last && turn === outbox.turn) Object.assign(last, { isLast: true, isUnread })
    else outbox.add({ type: 'done', jobId: job.id, isUnread })
  })
  work.add(delivery)
}

/** An unusable key defers the mail it is for; the thread keeps serving the others. */
function addKey(id: string, der: Uint8Array): void {
  try {
    services.signer.addKey(id, der)
  } catch (error) {
    outbox.add({ type: 'fault', reason: `a DKIM key cannot be used: ${messageOf(error)}` })
  }
}

/** Transactions under way may finish, mail that has not begun is postponed, idle connections are closed. */
async function stop(graceMs: number): Promise<void> {
  services.pool.stop()
  const timer = setTimeout(() => {
    services.pool.destroy()
    resolver.close()
  }, graceMs)
  await Promise.all(work)
  clearTimeout(timer)
  resolver.close()
  sessionTally?.handOver()
  outbox.add({ type: 'stopped' })
  outbox.flush()
}

function deliverServices(): DeliverServices {
  const health = new HostHealth(Math.random)
  const { hostname, allowPrivateAddresses, ownListeners, interfaceAddresses, sources = [] } = settings
  return {
    route: {
      resolver,
      guard: { allowPrivateAddresses, ownListeners, interfaceAddresses },
      ownNames: ownNames(settings),
      port: settings.port,
      smarthost: settings.smarthost,
      random: Math.random,
    },
    smarthosts: new Map(),
    health,
    contents: new ContentRequests((type, jobId) => outbox.add({ type, jobId })),
    eachServer: resolver.eachServer,
    noteLookUp: (lookUp) => outbox.add({ type: 'looked up', lookUp }),
    connection: {
      ehloName: hostname,
      timeouts: { ...standardTimeouts, ...settings.timeouts },
      secureContextFor: trustContexts(settings.extraAuthorities ?? []),
      classicalHosts: new ClassicalHosts((host) => outbox.add({ type: 'classical host', host })),
      noteTls,
      noteSession: sessionTally && ((session) => sessionTally.note(session)),
      pipelining: new PipeliningTroubles(),
      sessions: new TlsSessions(Date.now),
      loginGates: new LoginGates((news) => outbox.add({ type: 'login', news })),
      smarthostAccess: new SmarthostAccess((serial) => outbox.add({ type: 'smarthost token wanted', serial })),
      lease: new LeaseDeadline(settings.leaseCells),
    },
    tlsTroubles: new TlsTroubles(),
    daneHosts: new DaneHosts(resolver, () => performance.now()),
    sts: settings.mtaSts ? stsLookup() : null,
    pool: connectionPool(health),
    ipv6Refusals: new Ipv6Refusals(),
    noteGroup: (destination, group) => outbox.add({ type: 'destination group', destination, group }),
    providerStops: new ProviderStops({
      tell: (stop) => outbox.add({ type: 'provider stop', stop }),
      random: Math.random,
      families: ownFamilies({ sources, interfaceAddresses }),
      waitMs: settings.waitMs,
    }),
    sources: new SourceChoice(sources),
    rotation: Math.random(),
    signer: new DkimSigner(),
    noteFault: (reason) => outbox.add({ type: 'fault', reason }),
  }
}

function stsLookup(): StsLookup {
  return new StsLookup({
    resolver,
    ask: (domain, id) => outbox.add({ type: 'mta-sts wanted', domain, id }),
    noteUsed: (domain) => outbox.add({ type: 'mta-sts used', domain }),
  })
}

function noteTls({ version, group, isResumed, verified }: ConnectionTls): void {
  const { [version === 'TLSv1.2' ? 'tls1_2' : 'tls1_3']: byExchange } = metrics.tlsHandshakes
  const bySession = byExchange[group === postQuantumGroup ? 'post_quantum' : 'classical']
  bySession[isResumed ? 'resumed' : 'new'][verified ? 'valid' : 'not_valid'].add()
}

function connectionPool(health: HostHealth): ConnectionPool {
  const { maxConnectionsPerHost, maxConnections = Infinity, messagesPerConnection, idleMs, partCells } = settings
  const parts = new LimitParts(partCells)
  return new ConnectionPool({
    get maxConnectionsPerHost() {
      return parts.of(maxConnectionsPerHost)
    },
    maxConnections,
    messagesPerConnection,
    messagesPerPrivateConnection: Math.max(messagesPerPrivateConnection, messagesPerConnection),
    idleMs,
    waitMs: settings.waitMs ?? standardWaitMs,
    hasAnswered: (host) => health.hasAnswered(hostKey(host)),
    noteUsed: (connections) => metrics.deliveryConnections.set(connections),
  })
}
