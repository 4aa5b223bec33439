import { LeaseDeadline } from '../../src/platform/store/lease-deadline.ts'
import { onTestFinished } from 'vitest'
import type { Attempt, ContentSupply, DeliveryJob, Postponed, TranscriptLine } from '../../src/mail-out/delivery/attempt.ts'
import { ClassicalHosts, type ClassicalHost } from '../../src/mail-out/delivery/classical-hosts.ts'
import type { SourceAddress } from '../../src/platform/config/source-address.ts'
import { SourceChoice } from '../../src/mail-out/delivery/choose-source.ts'
import { ConnectionPool } from '../../src/mail-out/delivery/connection-pool.ts'
import type { PoolLimits } from '../../src/mail-out/delivery/pool-limits.ts'
import { ProviderStops, type ProviderStop } from '../../src/mail-out/delivery/provider-stops.ts'
import { ContentRequests } from '../../src/mail-out/delivery/content-requests.ts'
import { DaneHosts } from '../../src/mail-out/delivery/dane-hosts.ts'
import { deliver } from '../../src/mail-out/delivery/deliver.ts'
import type { DeliverServices } from '../../src/mail-out/delivery/transferring.ts'
import { standardTimeouts, type DeliveryTimeouts } from '../../src/mail-out/delivery/delivery-timeouts.ts'
import type { LookUp } from '../../src/mail-out/delivery/find-route.ts'
import { HostHealth } from '../../src/mail-out/delivery/host-health.ts'
import { Ipv6Refusals } from '../../src/mail-out/delivery/ipv6-refusals.ts'
import { PipeliningTroubles } from '../../src/mail-out/delivery/pipelining-troubles.ts'
import { DkimSigner } from '../../src/mail-out/delivery/dkim-sign.ts'
import { LoginGates } from '../../src/mail-out/delivery/login-gates.ts'
import { SmarthostAccess } from '../../src/mail-out/delivery/smarthost-access.ts'
import { trustContexts } from '../../src/mail-out/delivery/tls-policy.ts'
import type { TlsSession } from '../../src/mail-out/delivery/tls-session.ts'
import { TlsSessions } from '../../src/mail-out/delivery/tls-sessions.ts'
import { TlsTroubles } from '../../src/mail-out/delivery/tls-trouble.ts'
import { StsLookup } from '../../src/mail-out/delivery/sts-lookup.ts'
import type { StsPolicy } from '../../src/mail-out/mta-sts/sts-policy.ts'
import { readTlsText } from '../../src/mail-out/delivery/transport-facts.ts'
import type { TlsaResolver } from '../../src/platform/dns/dns-resolver.ts'
import type { Resolver } from '../../src/platform/resolver.ts'
import { startFakeMx, type FakeMx, type FakeMxOptions } from './fake-mx.ts'
import { fakeResolver } from './fake-resolver.ts'

/** Text in shared memory, as delivery gets it. */
export function contentOf(text: string): Uint8Array {
  const bytes = Buffer.from(text)
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  return shared
}

/** A job for `user@example.com`, but for what is given; recipients by their addresses. */
export function jobOf({
  to = ['user@example.com'],
  text = 'Subject: hi\r\n\r\nHello\r\n',
  ...more
}: Partial<DeliveryJob> & { to?: string[]; text?: string } = {}): DeliveryJob {
  return {
    id: `job_${Math.random()}`,
    messageId: 'em_test',
    destination: 'example.com',
    isSecondLook: false,
    isOwnMail: false,
    account: 0,
    isUrgent: false,
    knownName: null,
    tracking: null,
    recipients: to.map((forwardPath, i) => ({
      id: `rcp_${i + 1}`,
      forwardPath,
      reversePath: 'bounce@sender.test',
      traceFields: '',
      fields: [],
    })),
    isProbe: false,
    content: contentOf(text),
    size: text.length,
    bodyType: '7bit',
    smtputf8: false,
    senderTls: 'opportunistic',
    transfer: null,
    recipientTls: null,
    at: Date.now(),
    signingKeys: [],
    fields: [],
    ...more,
  }
}

/** Of a job that its content goes along with. */
export const noSupply: ContentSupply = { take: async () => null, giveBack: () => {}, noteUnread: () => {} }

/** A fake MX host that goes away with the test. */
export async function testMx(options: FakeMxOptions = {}): Promise<FakeMx> {
  const mx = await startFakeMx(options)
  onTestFinished(() => mx.close())
  return mx
}

/** With what it says of its TLS. */
export type ReadAttempt = Omit<Attempt, 'tls'> & ReturnType<typeof readTlsText>

export interface TestDelivery {
  services: DeliverServices
  /** What was noted of the name servers. */
  lookUps: LookUp[]
  /** Hosts that were proven to drop large hellos. */
  classicalHosts: ClassicalHost[]
  /** Groups that are sent nothing for a while, and those that are again. */
  providerStops: ProviderStop[]
  /** What reports on TLS are made of. */
  tlsSessions: TlsSession[]
  /** Every result, in order. */
  deliver(job?: DeliveryJob): Promise<(Attempt | Postponed)[]>
  /** Of a job with one recipient. */
  attempt(job?: DeliveryJob): Promise<ReadAttempt>
}

/** What is wished for; the only name server alone answers as `resolver` does, unless others are given. */
interface Wishes {
  timeouts?: Partial<DeliveryTimeouts>
  limits?: Partial<PoolLimits>
  extraAuthorities?: string[]
  resolver?: Resolver & TlsaResolver
  /** epoch ms */
  now?: () => number
  eachServer?: Resolver[]
  lease?: Pick<LeaseDeadline, 'isPast'>
  sources?: SourceAddress[]
  /** What can be fetched now, if it is looked at. */
  published?: () => StsPolicy | null
}

/** Delivery on this thread, with example.com at these hosts, in order. They share one port, so they differ in address. */
export function testDelivery(
  hosts: { host: string; port: number }[],
  {
    timeouts,
    limits,
    extraAuthorities = [],
    resolver: wished,
    eachServer,
    now = Date.now,
    lease = new LeaseDeadline(),
    sources = [],
    published,
  }: Wishes = {},
): TestDelivery {
  const names = Object.fromEntries(hosts.map(({ host }, i) => [`mx${i + 1}.example.com`, { a: [host] }]))
  const mx = hosts.map((_, i) => [i, `mx${i + 1}.example.com`] as [number, string])
  const resolver = wished ?? fakeResolver({ 'example.com': { mx }, ...names })
  const lookUps: LookUp[] = []
  const classicalHosts: ClassicalHost[] = []
  const providerStops: ProviderStop[] = []
  const tlsSessions: TlsSession[] = []
  const pool = new ConnectionPool({
    maxConnectionsPerHost: 20,
    maxConnections: 1_000,
    messagesPerConnection: 100,
    messagesPerPrivateConnection: limits?.messagesPerConnection ?? 1000,
    idleMs: 5000,
    waitMs: 30_000,
    ...limits,
  })
  onTestFinished(() => {
    pool.stop()
    pool.destroy()
  })
  const services: DeliverServices = {
    route: {
      resolver,
      guard: { allowPrivateAddresses: true, ownListeners: [], interfaceAddresses: [] },
      ownNames: ['relay.test'],
      port: hosts[0]?.port ?? 25,
      smarthost: null,
      random: Math.random,
    },
    smarthosts: new Map(),
    health: new HostHealth(() => 0),
    contents: new ContentRequests(() => {}),
    eachServer: eachServer ?? [resolver],
    noteFault: () => {},
    noteLookUp: (lookUp) => lookUps.push(lookUp),
    connection: {
      ehloName: 'relay.test',
      timeouts: { ...standardTimeouts, ...timeouts },
      secureContextFor: trustContexts(extraAuthorities),
      noteTls: () => {},
      noteSession: (session) => tlsSessions.push(session),
      classicalHosts: new ClassicalHosts((host) => classicalHosts.push(host)),
      pipelining: new PipeliningTroubles(),
      sessions: new TlsSessions(now),
      loginGates: new LoginGates(() => {}),
      smarthostAccess: new SmarthostAccess(() => {}),
      lease,
    },
    tlsTroubles: new TlsTroubles(),
    daneHosts: new DaneHosts(resolver, () => performance.now()),
    pool,
    ipv6Refusals: new Ipv6Refusals(),
    noteGroup: () => {},
    providerStops: new ProviderStops({ tell: (stop) => providerStops.push(stop), random: () => 0, waitMs: limits?.waitMs }),
    sources: new SourceChoice(sources),
    rotation: 0,
    signer: new DkimSigner(),
    sts: published ? stsLookup(resolver, published, now) : null,
  }
  const run = async (job = jobOf()): Promise<(Attempt | Postponed)[]> => {
    const results: (Attempt | Postponed)[] = []
    await deliver(job, (result) => results.push(result), services)
    return results
  }
  return {
    services,
    lookUps,
    classicalHosts,
    providerStops,
    tlsSessions,
    deliver: run,
    async attempt(job) {
      const [result] = await run(job)
      if (!result || 'postponed' in result) throw new Error('postponed')
      return { ...result, ...readTlsText(result.tls) }
    },
  }
}

function stsLookup(resolver: Resolver, published: () => StsPolicy | null, now: () => number): StsLookup {
  const ask = (domain: string, id: string | null): void => {
    const [at, policy] = [now(), published()]
    const fault = { type: 'sts-policy-fetch-error' as const, reason: 'there is none' }
    const known = { domain, id, triedAt: at, usedAt: at }
    if (policy) lookup.learn({ ...known, policy, fetchedAt: at, fault: null })
    else lookup.learn({ ...known, policy: null, fetchedAt: null, fault })
    setImmediate(() => lookup.answered(domain, id, true))
  }
  const lookup = new StsLookup({ resolver, ask, noteUsed: () => {} })
  return lookup
}

export const linesOf = ({ transcript }: Pick<Attempt, 'transcript'>): TranscriptLine[] => JSON.parse(transcript) as TranscriptLine[]
