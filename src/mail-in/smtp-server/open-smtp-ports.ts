import type { AddressInfo } from 'node:net'
import type { Clock } from '../../platform/clock.ts'
import { ConnectionSlots, type Crowding, type SlotFigures } from '../../platform/connection/connection-slots.ts'
import { MinimumRate } from '../../platform/connection/minimum-rate.ts'
import { networkRule } from '../../platform/ip-address.ts'
import type { SmtpPortSettings } from './smtp-connection.ts'
import { SmtpListener } from './smtp-listener.ts'
import type { SmtpHandlers } from './smtp-session.ts'

interface SmtpPlace {
  host: string
  /** 0: the system chooses. */
  port: number
  /** TLS from the first byte. */
  tls: boolean
  /** The name of its setting. */
  setting: string
}

interface SmtpPortsSettings extends Omit<SmtpPortSettings, 'implicitTls' | 'seats' | 'contentRate' | 'isProxy'> {
  clock: Clock
  /** Networks in CIDR notation. */
  trustedProxies: readonly string[]
  /** Over all ports. */
  maxConnections: number
  /** Per client address, over all ports. */
  maxConnectionsPerAddress: number
}

/** Of all connections, those that are not logged in. */
const maxStrangers = 1_000
/** How long a message may stall, ms. */
const contentPatienceMs = 60_000

export interface SmtpServer {
  /** Where it listens, in the given order. */
  addresses: AddressInfo[]
  connections(): SlotFigures
  /** PEM, both; open connections keep theirs. */
  useCertificate(tls: Pick<SmtpPortSettings['tls'], 'cert' | 'key'>): void
  /** Accepts no more connections or messages; arriving messages get `graceMs` to be accepted. */
  stop(graceMs: number): Promise<void>
}

/**
 * Opens ports that share their handlers and limits.
 * @throws SternaError `configuration` if a port cannot be opened; then none stays open
 */
export async function openSmtpPorts<User>(
  places: SmtpPlace[],
  { maxConnections, maxConnectionsPerAddress, clock, trustedProxies, ...settings }: SmtpPortsSettings,
  handlers: SmtpHandlers<User>,
): Promise<SmtpServer> {
  const steady = (): number => clock.steady()
  const crowded = (crowding: Crowding): void =>
    settings.log.warn({ ...crowding, port: places[0]?.setting }, 'too many SMTP connections: idle ones were closed, others refused')
  const limits = { max: maxConnections, maxStrangers, maxPerNetwork: maxConnectionsPerAddress, countsKnown: true }
  const seats = new ConnectionSlots(limits, { steady, crowded })
  const contentRate = new MinimumRate(steady, { patienceMs: contentPatienceMs })
  const isProxy = networkRule(trustedProxies)
  const listeners: SmtpListener<User>[] = []
  const stop = async (graceMs: number): Promise<void> => {
    await Promise.all(listeners.map((listener) => listener.stop(graceMs)))
  }
  const addresses: AddressInfo[] = []
  for (const { host, port, tls, setting } of places) {
    const listener = new SmtpListener({ ...settings, isProxy, seats, contentRate, implicitTls: tls }, handlers)
    try {
      addresses.push(await listener.start({ host, port }, { setting, all: places, log: settings.log }))
      listeners.push(listener)
    } catch (error) {
      await stop(0)
      throw error
    }
  }
  const useCertificate: SmtpServer['useCertificate'] = (tls) => listeners.forEach((listener) => listener.useCertificate(tls))
  return { addresses, connections: () => seats.figures, useCertificate, stop }
}
