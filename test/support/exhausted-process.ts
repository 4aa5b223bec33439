/** Delivers to a host that refuses connections: while this process may open nothing more, and afterwards. Prints both results. */
import { LeaseDeadline } from '../../src/platform/store/lease-deadline.ts'
import { closeSync, openSync } from 'node:fs'
import { ProviderStops } from '../../src/mail-out/delivery/provider-stops.ts'
import { ClassicalHosts } from '../../src/mail-out/delivery/classical-hosts.ts'
import { SourceChoice } from '../../src/mail-out/delivery/choose-source.ts'
import { ConnectionPool } from '../../src/mail-out/delivery/connection-pool.ts'
import { ContentRequests } from '../../src/mail-out/delivery/content-requests.ts'
import { DaneHosts } from '../../src/mail-out/delivery/dane-hosts.ts'
import { deliver } from '../../src/mail-out/delivery/deliver.ts'
import { HostHealth } from '../../src/mail-out/delivery/host-health.ts'
import { standardTimeouts } from '../../src/mail-out/delivery/delivery-timeouts.ts'
import { Ipv6Refusals } from '../../src/mail-out/delivery/ipv6-refusals.ts'
import { readProviders } from '../../src/mail-out/delivery/mx-provider.ts'
import { PipeliningTroubles } from '../../src/mail-out/delivery/pipelining-troubles.ts'
import { DkimSigner } from '../../src/mail-out/delivery/dkim-sign.ts'
import { LoginGates } from '../../src/mail-out/delivery/login-gates.ts'
import { SmarthostAccess } from '../../src/mail-out/delivery/smarthost-access.ts'
import { trustContexts } from '../../src/mail-out/delivery/tls-policy.ts'
import { TlsSessions } from '../../src/mail-out/delivery/tls-sessions.ts'
import { TlsTroubles } from '../../src/mail-out/delivery/tls-trouble.ts'
import { fakeResolver } from './fake-resolver.ts'

const services = {
  smarthosts: new Map(),
  route: {
    resolver: fakeResolver({ 'example.com': { a: ['127.0.0.1'] } }),
    guard: { allowPrivateAddresses: true, ownListeners: [], interfaceAddresses: [] },
    ownNames: ['relay.test'],
    port: 1,
    smarthost: null,
    random: Math.random,
  },
  health: new HostHealth(Math.random),
  contents: new ContentRequests(() => {}),
  eachServer: [],
  noteFault: () => {},
  noteLookUp: () => {},
  connection: {
    ehloName: 'relay.test',
    timeouts: standardTimeouts,
    secureContextFor: trustContexts([]),
    noteTls: () => {},
    noteSession: null,
    classicalHosts: new ClassicalHosts(() => {}),
    pipelining: new PipeliningTroubles(),
    sessions: new TlsSessions(Date.now),
    loginGates: new LoginGates(() => {}),
    smarthostAccess: new SmarthostAccess(() => {}),
    lease: new LeaseDeadline(),
  },
  tlsTroubles: new TlsTroubles(),
  daneHosts: new DaneHosts(fakeResolver({}), () => 0),
  pool: new ConnectionPool({
    maxConnectionsPerHost: 20,
    maxConnections: 100,
    messagesPerConnection: 1,
    messagesPerPrivateConnection: 1,
    idleMs: 0,
    waitMs: 1_000,
  }),
  ipv6Refusals: new Ipv6Refusals(),
  noteGroup: () => {},
  providerStops: new ProviderStops({ tell: () => {}, random: () => 0 }),
  sources: new SourceChoice([]),
  rotation: 0,
  sts: null,
  signer: new DkimSigner(),
  now: Date.now,
}
const recipientOf = (id: string) => ({ id, forwardPath: `${id}@example.com`, reversePath: '', traceFields: '', fields: [] })
const job = {
  id: 'job',
  messageId: 'em_test',
  destination: 'example.com',
  isSecondLook: false,
  isOwnMail: false,
  account: 0,
  isUrgent: false,
  knownName: null,
  tracking: null,
  recipients: [recipientOf('one'), recipientOf('two')],
  isProbe: false,
  size: 23,
  content: new TextEncoder().encode('Subject: hi\r\n\r\nHello\r\n'),
  bodyType: '7bit' as const,
  smtputf8: false,
  senderTls: 'opportunistic' as const,
  transfer: null,
  recipientTls: null,
  at: Date.now(),
  signingKeys: [],
  fields: [],
}

async function outcomes(): Promise<string[]> {
  const results: string[] = []
  await deliver(job, (result) => results.push('postponed' in result ? 'postponed' : result.outcome.type), services)
  return results
}

readProviders()
const taken: number[] = []
try {
  for (;;) taken.push(openSync('/dev/null', 'r'))
} catch {
  // Now none is left.
}
const exhausted = await outcomes()
for (const file of taken) closeSync(file)
process.stdout.write(JSON.stringify({ exhausted, afterwards: await outcomes() }))
services.pool.stop()
