import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'

const FIRST = 10_000

let next = 0

/**
 * A port of 127.0.0.1 that nobody listens on at this moment, and another at each call. It lies below those that the system gives to
 * outgoing connections, one of which might take it otherwise before it is listened on.
 */
export async function freePort(): Promise<number> {
  const count = firstOutgoingPort() - FIRST
  next ||= Math.floor(Math.random() * count)
  for (;;) {
    const port = FIRST + (next++ % count)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) =>
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)),
    )
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

function firstOutgoingPort(): number {
  const range = '/proc/sys/net/ipv4/ip_local_port_range'
  const first = existsSync(range) ? Number.parseInt(readFileSync(range, 'utf8')) : 0
  return first > FIRST ? first : 32_768
}
