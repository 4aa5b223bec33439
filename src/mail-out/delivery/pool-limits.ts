import { isPublicAddress } from '../../platform/ip-address.ts'
import { providerOf } from './mx-provider.ts'
import type { RouteHost } from './route.ts'

/** How long a message waits for a connection, ms. */
export const standardWaitMs = 30_000

export interface PoolLimits {
  /** Connections per address, which may change; fewer as the total runs out. */
  maxConnectionsPerHost: number
  /** To all hosts together. */
  maxConnections: number
  /** True of a host known to answer: an eighth of all connections is reserved for these. Without it every host counts as known. */
  hasAnswered?: (host: RouteHost) => boolean
  messagesPerConnection: number
  /** The same for hosts in our own network, which need no restraint. */
  messagesPerPrivateConnection: number
  /** How long to keep a connection for the next message; four times as long at a host where that has paid. */
  idleMs: number
  /** How long a message may wait for a connection. */
  waitMs: number
  /** Called with the number of connections whenever it changes. */
  noteUsed?: (connections: number) => void
}

export interface HostLimits {
  /** What its provider takes, however many may be open to others. */
  maxConnections: number
  messagesPerConnection: number
}

/** The limits at one host. What providers take is not known of a smarthost: it knows us. */
export function limitsAt({ name, address, smarthost }: RouteHost, limits: PoolLimits): HostLimits {
  if (!isPublicAddress(address)) return { maxConnections: Infinity, messagesPerConnection: limits.messagesPerPrivateConnection }
  const { connections = Infinity, messages = Infinity } = (smarthost ? undefined : providerOf(name)) ?? {}
  return { maxConnections: connections, messagesPerConnection: Math.min(limits.messagesPerConnection, messages) }
}
