import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** What stands in front of a host that speaks SMTP and STARTTLS, and resets the connection at a hello that it does not like. */
export interface HelloFilter {
  host: string
  port: number
  /** The bytes of each hello that came, by connection. */
  hellos: number[][]
  /** Ends its connections. */
  cut(): void
  close(): void
}

const handshakeRecord = 22
const clientHello = 1

/** How much of it can be passed on: one record of TLS, or commands; 0 while a record is incomplete. */
function firstPiece(bytes: Buffer): number {
  const [type = 0] = bytes
  if (type < 20 || type > 23) return bytes.length
  const length = bytes.length < 5 ? Infinity : 5 + bytes.readUInt16BE(3)
  return length <= bytes.length ? length : 0
}

/** A hello, with the header of its record; `number`: from 1 on each connection. */
export type DislikesHello = (hello: { bytes: number; number: number }) => boolean

export async function startHelloFilter(
  to: { host: string; port: number },
  resets: DislikesHello,
  { host = to.host, port = 0 } = {},
): Promise<HelloFilter> {
  const open = new Set<Socket>()
  const hellos: number[][] = []
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ ...to, noDelay: true })
    const seen: number[] = []
    hellos.push(seen)
    for (const socket of [client, upstream]) {
      open.add(socket.on('close', () => open.delete(socket)))
      socket.on('error', () => {})
    }
    upstream.pipe(client)
    let pending = Buffer.alloc(0)
    client.on('data', (data: Buffer) => {
      pending = Buffer.concat([pending, data])
      for (let bytes = firstPiece(pending); bytes > 0; bytes = firstPiece(pending)) {
        const piece = pending.subarray(0, bytes)
        pending = pending.subarray(bytes)
        if (piece[0] === handshakeRecord && piece[5] === clientHello) {
          seen.push(bytes)
          if (resets({ bytes, number: seen.length })) return void client.resetAndDestroy()
        }
        upstream.write(piece)
      }
    })
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  const cut = (): void => {
    for (const socket of open) socket.destroy()
    open.clear()
  }
  const close = (): void => {
    cut()
    server.close()
  }
  return { host, port: (server.address() as AddressInfo).port, hellos, cut, close }
}
