import type { SourceAddress } from '../../platform/config/source-address.ts'
import type { DnssecProbe } from '../../platform/dns/validation.ts'
import type { Attempt, DeliveryJob, Postponed } from './attempt.ts'
import type { ListenAddress } from './address-guard.ts'
import type { ClassicalHost } from './classical-hosts.ts'
import type { ContentAnswer } from './content-requests.ts'
import type { DeliveryTimeouts } from './delivery-timeouts.ts'
import type { LoginNews } from './login-gates.ts'
import type { LookUp } from './find-route.ts'
import type { KnownSts } from '../mta-sts/known-sts.ts'
import type { KnownToken } from '../oauth/known-token.ts'
import type { ProviderStop } from './provider-stops.ts'
import type { SessionSum } from './session-tally.ts'
import type { Smarthost } from './smarthost.ts'

/** What a delivery thread starts with. */
export interface DeliverySettings {
  /** Our name in EHLO; fully qualified. */
  hostname: string
  /** `ip:port`; empty: the operating system's. */
  dnsServers: string[]
  /** See `DnsResolverOptions`; default: none, so no DANE. */
  dnssecProbe?: DnssecProbe | null
  /** The port of MX hosts; 25 except in tests. */
  port: number
  /** Relays the mail that no route says more about, instead of the MX hosts. */
  smarthost: Smarthost | null
  /** Of all nodes together. */
  maxConnectionsPerHost: number
  /** To all hosts, per thread; default: no limit. */
  maxConnections?: number
  /** For DNS queries, per thread; default: no limit. */
  maxNameServerSockets?: number
  messagesPerConnection: number
  /** How long to keep a connection for the next message. */
  idleMs: number
  allowPrivateAddresses: boolean
  /** What mail leaves from; default: what the system chooses. */
  sources?: SourceAddress[]
  /** Never connected to. */
  ownListeners: ListenAddress[]
  /** The addresses of this machine. */
  interfaceAddresses: string[]
  /** Certificates in PEM that are trusted in addition to the public authorities; default: none. */
  extraAuthorities?: string[]
  /** Whether the MTA-STS policies of recipient domains hold; default: no. */
  mtaSts?: boolean
  /** Whether TLS sessions are counted for the reports on them; default: no. */
  countsSessions?: boolean
  /** Only those that differ from RFC 5321 4.5.3.2. */
  timeouts?: Partial<DeliveryTimeouts>
  /** How long a message may wait for a connection; default: 30 s. */
  waitMs?: number
  /** Where the thread counts its metrics; default: nowhere. */
  sharedCells?: SharedArrayBuffer
  /** Of a `LeaseDeadline`; default: one that never comes. */
  leaseCells?: SharedArrayBuffer
  /** Of `LimitParts`; default: those of one node. */
  partCells?: SharedArrayBuffer
}

/** Messages from the main thread to a delivery thread. They travel in arrays, one per turn of the event loop. */
export type ToThread =
  | { type: 'job'; job: DeliveryJob }
  | { type: 'content'; jobId: string; content: ContentAnswer }
  | { type: 'key'; id: string; der: Uint8Array }
  | { type: 'drop key'; id: string }
  | { type: 'listeners'; listeners: ListenAddress[] }
  | { type: 'classical host'; host: ClassicalHost }
  | { type: 'provider stop'; stop: ProviderStop }
  | { type: 'mta-sts'; known: KnownSts }
  /** More is stored than was told. */
  | { type: 'mta-sts partial' }
  /** All that follows from what was wanted has been told; `isRead`: false if the store cannot be read or written. */
  | { type: 'mta-sts answer'; domain: string; id: string | null; isRead: boolean }
  | { type: 'smarthost token'; known: KnownToken }
  /** All that routes may name. */
  | { type: 'smarthosts'; smarthosts: Smarthost[] }
  | { type: 'stop'; graceMs: number }

export type FromThread =
  /** `isLast`: the job is done; `isUnread`: nothing reads its content any more. */
  | { type: 'attempt'; jobId: string; result: Attempt | Postponed; isLast: boolean; isUnread: boolean }
  | { type: 'done'; jobId: string; isUnread: boolean }
  | { type: 'content wanted'; jobId: string }
  | { type: 'content left'; jobId: string }
  | { type: 'looked up'; lookUp: LookUp }
  /** The name servers that have validated DNSSEC and no longer do. */
  | { type: 'unvalidated'; servers: string[] }
  | { type: 'login'; news: LoginNews }
  /** Another access token for the smarthost than that with this serial; what is known then is told, whether there is one or not. */
  | { type: 'smarthost token wanted'; serial: number }
  /** It drops large hellos, or no longer does. */
  | { type: 'classical host'; host: ClassicalHost }
  | { type: 'provider stop'; stop: ProviderStop }
  | { type: 'destination group'; destination: string; group: string }
  /** The policy that the DNS announces under this id; null: what is stored. */
  | { type: 'mta-sts wanted'; domain: string; id: string | null }
  | { type: 'mta-sts used'; domain: string }
  | { type: 'tls sessions'; sums: SessionSum[] }
  | { type: 'fault'; reason: string }
  | { type: 'stopped' }
