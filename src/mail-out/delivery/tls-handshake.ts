import type { Socket } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import type { DeliveryTimeouts } from './delivery-timeouts.ts'
import type { ConnectionTls } from './transport-facts.ts'
import type { RouteHost } from './route.ts'
import { connectionFault, handshakeOptions, isTlsFault, postQuantumGroup, type HelloGroups, type TlsTrouble } from './tls-policy.ts'
import type { KeptSession, TlsSessions } from './tls-sessions.ts'
import type { TransportPolicy } from './transport-policy.ts'

export interface HandshakeServices {
  timeouts: DeliveryTimeouts
  secureContextFor: (groups: HelloGroups) => SecureContext
  sessions: TlsSessions
}

/** What a handshake begins with, and how far it has come. */
export interface HandshakeOpening {
  host: RouteHost
  policy: TransportPolicy
  services: HandshakeServices
  /** performance.now() at which the time of the attempt is over. */
  endsAt: number
  groups: HelloGroups
  /** What we offer to resume. */
  offered: KeptSession | null
  /** True from the offer on, until a full handshake has taken its place. */
  isResuming: boolean
  /** Null until it begins. */
  handshake: Handshake | null
}

interface Handshake {
  isDone: boolean
  /** Whether its hellos were large; known once it is done. */
  hasSentLarge: boolean
  /** The bytes that it has sent so far. */
  sent: () => number
}

export interface Secured {
  socket: TLSSocket
  /** Resolves at the end of the handshake, if that succeeds. */
  tls: Promise<ConnectionTls>
}

/** Of one connection: below TLS 1.3 a host may ask for another, which costs CPU each time. */
const maxHandshakes = 4

/** Begins a handshake. */
export function secure(opening: HandshakeOpening, over: Socket): Secured {
  const { host, policy, services, offered, groups } = opening
  opening.isResuming = offered !== null
  over.on('error', () => {})
  const sentBefore = over.bytesWritten
  const handshake: Handshake = { isDone: false, hasSentLarge: false, sent: () => over.bytesWritten - sentBefore }
  opening.handshake = handshake
  const session = offered && { session: offered.session }
  const socket = connectTls({ ...handshakeOptions(nameAskedFor(opening), services.secureContextFor(groups)), ...session, socket: over })
  const { promise: tls, resolve } = Promise.withResolvers<ConnectionTls>()
  let handshakes = 0
  // At once: with TLS from the first byte, the host's sessions may come in the same packet as its banner.
  socket.on('secureConnect', () => {
    if (++handshakes > maxHandshakes) socket.destroy(new Error('the host asked for one TLS handshake after the other'))
    if (handshake.isDone) return
    handshake.isDone = true
    const judged = services.sessions.judge(socket, host, { policy, offered, groups })
    opening.isResuming = judged.isResumed
    handshake.hasSentLarge = !judged.isResumed && judged.group === postQuantumGroup
    resolve(judged)
  })
  return { socket, tls }
}

/** RFC 7672 8.1: the name that the TLSA records are for. */
const nameAskedFor = ({ host, policy }: HandshakeOpening): string => (policy.mode === 'dane' && policy.records?.base) || host.name

interface FailedHandshake {
  fault: string
  tlsTrouble: TlsTrouble
}

/** The encrypted socket, or why there is none. */
export function handshake(plain: Socket, opening: HandshakeOpening): Promise<Secured | FailedHandshake> {
  const { services, endsAt } = opening
  return new Promise((resolve) => {
    const end = (failed?: FailedHandshake): void => {
      clearTimeout(timer)
      socket.off('error', onError).off('close', onClose)
      if (failed) {
        socket.on('error', () => {}).destroy()
        plain.destroy()
      }
      resolve(failed ?? secured)
    }
    const breakOff = (fault: string): void => end({ fault, tlsTrouble: 'broken off' })
    const onError = (error: Error): void =>
      end({ fault: connectionFault(error), tlsTrouble: isTlsFault(error) ? 'impossible' : 'broken off' })
    const onClose = (): void => breakOff('the host closed the connection')
    const secured = secure(opening, plain)
    const { socket } = secured
    socket
      .on('error', onError)
      .on('close', onClose)
      .once('secureConnect', () => end())
    const timer = setTimeout(() => breakOff('time-out'), Math.max(0, Math.min(services.timeouts.handshake, endsAt - performance.now())))
  })
}

/** A hello is this large only with a share of a post-quantum group, bytes. */
const largeHello = 1_200

/** What has become of a hello of more than one packet; null if none was sent. */
export function largeHelloOf({ handshake }: HandshakeOpening): 'reached' | 'lost' | null {
  if (handshake === null) return null
  if (handshake.isDone) return handshake.hasSentLarge ? 'reached' : null
  return handshake.sent() > largeHello ? 'lost' : null
}
