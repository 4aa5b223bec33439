import type { AddressInfo } from 'node:net'
import { SternaError, messageOf } from '../errors.ts'
import type { SmtpPortSettings } from './smtp-connection.ts'
import { SmtpListener } from './smtp-listener.ts'
import type { SmtpHandlers } from './smtp-session.ts'

interface SmtpPlace {
  host: string
  /** 0 lets the system choose. */
  port: number
  /** TLS from the first byte. */
  tls: boolean
  /** The setting that names it. */
  setting: string
}

export interface SmtpServer {
  /** Where it listens, in the order given. */
  addresses: AddressInfo[]
  /** PEM, both; connections that stand keep theirs. */
  useCertificate(tls: SmtpPortSettings['tls']): void
  /** Takes no more connections or messages; messages that are arriving get `graceMs` to be accepted. */
  stop(graceMs: number): Promise<void>
}

/**
 * Opens ports that share their handlers and limits.
 * @throws SternaError `configuration` where a port cannot be opened; then none is left open
 */
export async function openSmtpPorts<User>(
  places: SmtpPlace[],
  settings: Omit<SmtpPortSettings, 'implicitTls'>,
  handlers: SmtpHandlers<User>,
): Promise<SmtpServer> {
  const listeners: SmtpListener<User>[] = []
  const stop = async (graceMs: number): Promise<void> => {
    await Promise.all(listeners.map((listener) => listener.stop(graceMs)))
  }
  const addresses: AddressInfo[] = []
  for (const { host, port, tls, setting } of places) {
    const listener = new SmtpListener({ ...settings, implicitTls: tls }, handlers)
    try {
      addresses.push(await listener.start({ host, port }))
      listeners.push(listener)
    } catch (error) {
      await stop(0)
      throw new SternaError('configuration', `${setting}: cannot listen on ${host} port ${port}: ${messageOf(error)}`, { cause: error })
    }
  }
  const useCertificate = (tls: SmtpPortSettings['tls']): void => listeners.forEach((listener) => listener.useCertificate(tls))
  return { addresses, useCertificate, stop }
}
