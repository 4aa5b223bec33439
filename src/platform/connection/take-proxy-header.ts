import type { Socket } from 'node:net'
import { plainAddress } from '../ip-address.ts'
import { parseProxyHeader } from './proxy-header.ts'

/** ms to wait for a proxy's header, which comes with the first packet. A client without one is greeted after this time. */
const headerMs = 1_000

/**
 * Takes the PROXY protocol header off a proxy's connection, and leaves what follows to be read. Without a header, or if the proxy speaks
 * for itself, the client is whoever is at the other end.
 * @param done gets the client's address; null if a header began that is invalid or never ended, and the socket is destroyed
 */
export function takeProxyHeader(socket: Socket, done: (address: string | null) => void): void {
  const own = plainAddress(socket.remoteAddress ?? '')
  let come: Buffer = Buffer.alloc(0)
  const finish = (address: string | null): void => {
    clearTimeout(timer)
    socket.off('readable', read).off('end', giveUp).off('close', giveUp).off('error', giveUp)
    // An error may still arrive, and nobody else listens for it.
    if (address === null) socket.on('error', () => {}).destroy()
    done(address)
  }
  const giveUp = (): void => finish(null)
  const read = (): void => {
    let bytes: Buffer | null
    while ((bytes = socket.read() as Buffer | null) !== null) come = Buffer.concat([come, bytes])
    const header = parseProxyHeader(come)
    if (header.found === 'part') return
    if (header.found === 'broken') return giveUp()
    const [length, address] = header.found === 'header' ? [header.length, header.address ?? own] : [0, own]
    if (come.length > length) socket.unshift(come.subarray(length))
    finish(address)
  }
  const timer = setTimeout(() => finish(come.length === 0 ? own : null), headerMs).unref()
  socket.on('readable', read).on('end', giveUp).on('close', giveUp).on('error', giveUp)
}
