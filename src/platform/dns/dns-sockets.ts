import { createSocket } from 'node:dgram'
import { connect, isIP } from 'node:net'
import { SternaError } from '../errors.ts'
import { isReplyTo, parseReply, type DnsReply, type Query } from './dns-message.ts'

export interface NameServer {
  address: string
  port: number
}

/** Uses a socket per question, so that source ports are unpredictable (RFC 5452). */
export class DnsSockets {
  closed = false
  readonly #open = new Set<() => void>()
  readonly #max: number
  #inUse = 0
  readonly #waiting: (() => void)[] = []

  /** `max`: sockets open at a time; further questions wait. */
  constructor(max = Infinity) {
    this.#max = max
  }

  /** Null if the server is silent, unreachable, or sends something unreadable. */
  overUdp(server: NameServer, query: Query, timeoutMs: number): Promise<DnsReply | null> {
    return this.#exchange(timeoutMs, (finish) => {
      const socket = createSocket(isIP(server.address) === 6 ? 'udp6' : 'udp4')
      socket.unref()
      socket.on('error', () => finish(null))
      socket.on('connect', () => socket.send(query.bytes))
      socket.on('message', (message) => {
        // Anything that does not answer this question may be forged. The real answer may still come.
        if (message.length < 12 || message.readUInt16BE(0) !== query.id) return
        const reply = parseReply(message)
        if (reply === null || isReplyTo(query, reply.packet)) finish(reply)
      })
      socket.connect(server.port, server.address)
      return () => socket.close()
    })
  }

  overTcp(server: NameServer, query: Query, timeoutMs: number): Promise<DnsReply | null> {
    return this.#exchange(timeoutMs, (finish) => {
      const socket = connect({ host: server.address, port: server.port })
      let received = Buffer.alloc(0)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(query.bytes.length)
      socket.unref()
      socket.on('error', () => finish(null))
      socket.on('close', () => finish(null))
      socket.on('data', (chunk: Buffer) => {
        received = Buffer.concat([received, chunk])
        if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return
        const reply = parseReply(received.subarray(2, 2 + received.readUInt16BE(0)))
        finish(reply && reply.packet.id === query.id && isReplyTo(query, reply.packet) ? reply : null)
      })
      socket.write(Buffer.concat([length, query.bytes]))
      return () => socket.destroy()
    })
  }

  close(): void {
    this.closed = true
    for (const cancel of this.#open) cancel()
  }

  /** @param begin opens a socket, and returns a function that closes it */
  #exchange(timeoutMs: number, begin: (finish: (reply: DnsReply | null) => void) => () => void): Promise<DnsReply | null> {
    return new Promise((done) => {
      let end: (() => void) | null = null
      const finish = (reply: DnsReply | null): void => {
        if (!this.#open.delete(cancel)) return
        clearTimeout(timer)
        done(reply)
        if (!end) return
        end()
        this.#inUse--
        this.#beginNext()
      }
      const cancel = (): void => finish(null)
      const timer = setTimeout(cancel, timeoutMs)
      timer.unref()
      this.#open.add(cancel)
      this.#waiting.push(() => {
        // It may have timed out.
        if (!this.#open.has(cancel)) return
        this.#inUse++
        end = begin(finish)
      })
      this.#beginNext()
    })
  }

  #beginNext(): void {
    while (this.#inUse < this.#max && this.#waiting.length > 0) this.#waiting.shift()?.()
  }
}

/**
 * Parses `ip`, `ip:port` or `[ipv6]:port`.
 * @throws SternaError `configuration`
 */
export function parseServer(text: string): NameServer {
  if (isIP(text)) return { address: text, port: 53 }
  const parts = /^\[(.+)\](?::(\d{1,5}))?$/.exec(text) ?? /^([^:]+):(\d{1,5})$/.exec(text)
  const [address, port] = [parts?.[1] ?? '', Number(parts?.[2] ?? 53)]
  if (isIP(address) && port > 0 && port < 65_536) return { address, port }
  throw new SternaError('configuration', `"${text}" is not the address of a name server. Write ip:port, or [ipv6]:port.`)
}
