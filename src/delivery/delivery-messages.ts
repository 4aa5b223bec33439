import type { Attempt, DeliveryJob, Postponed } from './attempt.ts'
import type { ListenAddress } from './address-guard.ts'
import type { ContentAnswer } from './content-requests.ts'
import type { DeliveryTimeouts } from './delivery-timeouts.ts'
import type { LookUp } from './find-route.ts'
import type { Smarthost } from './smarthost.ts'

/** What a delivery thread is started with. */
export interface DeliverySettings {
  /** What we call ourselves in EHLO; a fully qualified name. */
  hostname: string
  /** `ip:port`; empty: those of the operating system. */
  dnsServers: string[]
  /** Of MX hosts; 25 but in tests. */
  port: number
  /** Takes all mail instead of the MX hosts. */
  smarthost: Smarthost | null
  maxConnectionsPerHost: number
  /** To all hosts, of one thread; any number unless given. */
  maxConnections?: number
  /** For questions to name servers, of one thread; any number unless given. */
  maxNameServerSockets?: number
  messagesPerConnection: number
  /** How long a connection is kept for the next message. */
  idleMs: number
  allowPrivateAddresses: boolean
  /** Never connected to. */
  ownListeners: ListenAddress[]
  /** The addresses of this machine. */
  interfaceAddresses: string[]
  /** Certificates in PEM that are trusted beside the public authorities; none unless given. */
  extraAuthorities?: string[]
  /** Those that differ from RFC 5321 4.5.3.2. */
  timeouts?: Partial<DeliveryTimeouts>
  /** How long a message may wait for a connection; 30 s unless given. */
  waitMs?: number
  /** Where the thread counts; nowhere unless given. */
  sheet?: SharedArrayBuffer
}

/** What the main thread tells a delivery thread. Messages travel in arrays, one a turn of the event loop. */
export type ToThread =
  | { type: 'job'; job: DeliveryJob }
  | { type: 'content'; jobId: string; content: ContentAnswer }
  | { type: 'key'; id: string; der: Uint8Array }
  | { type: 'drop key'; id: string }
  | { type: 'listeners'; listeners: ListenAddress[] }
  | { type: 'stop'; graceMs: number }

export type FromThread =
  | { type: 'attempt'; jobId: string; result: Attempt | Postponed }
  | { type: 'done'; jobId: string }
  | { type: 'content wanted' | 'content left'; jobId: string }
  | { type: 'looked up'; lookUp: LookUp }
  /** Why the smarthost refused us; null: it took us. */
  | { type: 'login'; refusal: string | null }
  | { type: 'fault'; reason: string }
  | { type: 'stopped' }
