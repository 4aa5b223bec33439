import type { Outcome, DeliveryJob } from './attempt.ts'
import type { SourceChoice } from './choose-source.ts'
import type { ConnectionPool } from './connection-pool.ts'
import type { DaneHosts } from './dane-hosts.ts'
import type { FindRouteServices } from './find-route.ts'
import type { HostHealth } from './host-health.ts'
import type { Ipv6Refusals } from './ipv6-refusals.ts'
import type { LeavingServices } from './leaving-message.ts'
import type { OutgoingMessage } from './outgoing-message.ts'
import type { ConnectionServices } from './open-connection.ts'
import type { ProviderStops } from './provider-stops.ts'
import type { RouteHost } from './route.ts'
import type { Smarthost } from './smarthost.ts'
import type { StsLookup } from './sts-lookup.ts'
import type { TlsTroubles } from './tls-trouble.ts'
import type { DomainSts } from './transport-policy.ts'

export interface DeliverServices extends FindRouteServices, LeavingServices {
  /** Those that routes may name, by name. */
  smarthosts: ReadonlyMap<string, Smarthost>
  health: HostHealth
  connection: ConnectionServices
  pool: ConnectionPool
  ipv6Refusals: Ipv6Refusals
  providerStops: ProviderStops
  /** Called with the group of a destination when name servers have named its hosts; not with cached answers. */
  noteGroup(destination: string, group: string): void
  sources: SourceChoice
  /** 0 … 1: see `inOrder`. */
  rotation: number
  tlsTroubles: TlsTroubles
  daneHosts: DaneHosts
  /** Null: nobody's MTA-STS policy is looked at. */
  sts: StsLookup | null
}

/** What a job is delivered with. */
export interface Transferring {
  job: DeliveryJob
  message: OutgoingMessage
  services: DeliverServices
  /** What happened at hosts that this job need not try again. */
  failed: Map<RouteHost, Outcome>
  /** What the recipient's domain publishes. */
  sts: DomainSts | null
  use: ContentUse
}

/** How often sending the content of a job began, and how often its memory was no longer needed for that. */
export interface ContentUse {
  begun: number
  done: number
  /** After an error that is not understood, nobody knows. */
  isUncertain: boolean
}
