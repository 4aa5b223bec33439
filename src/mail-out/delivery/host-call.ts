import { connect, type Socket } from 'node:net'
import type { RouteHost } from './route.ts'

/** A socket that connects to a host. */
export interface Call {
  socket: Socket
  /**
   * Gets what the socket receives, which may be written over afterwards; not with TLS from the first byte. To be set by the time that the
   * socket is connected, or in the microtasks that follow: nothing is read before.
   */
  onData: (chunk: Buffer) => void
}

/** One for all: what a socket has received is read before the next one is. It would take new memory for each reply. */
const received = Buffer.alloc(64 * 1024)

export function call({ address, port, smarthost, source }: RouteHost): Call {
  const at = { host: address, port, noDelay: true, ...(source && { localAddress: source.address }) }
  // TLS reads from the socket itself.
  if (smarthost?.tls?.isImplicit === true) return { socket: connect(at), onData: () => {} }
  const callback = (size: number): boolean => (made.onData(received.subarray(0, size)), true)
  const made: Call = { socket: connect({ ...at, onread: { buffer: received, callback } }), onData: () => {} }
  return made
}
