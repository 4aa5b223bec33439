import { createSocket } from 'node:dgram'
import { readFile, stat, statfs } from 'node:fs/promises'
import { connect, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { connect as connectTls } from 'node:tls'
import { isLocalAddress } from '../../platform/connection/is-local-address.ts'
import { openFileLimit } from '../../platform/connection/open-files.ts'
import { offsetIn, sntpRequest } from './examine-clock.ts'
import type { DiskSpace } from './examine-disk.ts'
import type { WebAnswer } from './examine-base-url.ts'
import type { Greet } from './examine-port-25.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/** What the doctor examines outside this process, apart from DNS. Nothing throws: whatever is unavailable is null. */
export interface DoctorHost {
  interfaceAddresses(): string[]
  greet: Greet
  /** Whether connections can leave from this address. */
  isLocalAddress(address: string): Promise<boolean>
  /** Who answers at the URL of a server's health. */
  askHealth(url: string): Promise<WebAnswer>
  /** How far our clock is ahead of the time server's, ms. */
  clockOffset(address: string, port: number): Promise<number | null>
  diskSpace(directory: string): Promise<DiskSpace | null>
  /** The permission bits of a file or directory. */
  mode(path: string): Promise<number | null>
  read(path: string): Promise<string | null>
  /** How many files and sockets this process may have open. */
  openFileLimit(): number
}

const connectMs = 10_000
const timeMs = 3_000
/** bytes; RFC 5321 4.5.3.1.5 */
const maxLineLength = 512
/** bytes */
const maxHealth = 64 * 1024

/** The machine that this runs on. */
export const realHost: DoctorHost = {
  interfaceAddresses: () => Object.values(networkInterfaces()).flatMap((entries) => (entries ?? []).map(({ address }) => address)),
  greet,
  isLocalAddress,
  askHealth,
  clockOffset,
  diskSpace: (directory) =>
    statfs(directory).then(
      ({ bavail, blocks, bsize }) => ({ free: bavail * bsize, size: blocks * bsize }),
      () => null,
    ),
  mode: (path) =>
    stat(path).then(
      ({ mode }) => mode & 0o777,
      () => null,
    ),
  read: (path) => readFile(path, 'utf8').catch(() => null),
  openFileLimit,
}

function greet(address: string, port: number, isTls = false, from?: string): ReturnType<Greet> {
  const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<Greet>>>()
  const at = { host: address, port, ...(from !== undefined && { localAddress: from }) }
  const socket = isTls ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at)
  let received = ''
  const timer = setTimeout(() => resolve({ fault: 'no answer' }), connectMs)
  socket.setEncoding('latin1')
  socket.on('error', (error) => resolve({ fault: reasonOf(error) }))
  socket.on('close', () => resolve({ fault: 'the connection was closed' }))
  socket.on('data', (text: string) => {
    received += text
    const end = received.indexOf('\r\n')
    if (end !== -1) resolve({ line: received.slice(0, end) })
    else if (received.length > maxLineLength) resolve({ fault: 'no line came' })
  })
  return promise.finally(() => {
    clearTimeout(timer)
    if (!socket.destroyed) socket.end('QUIT\r\n')
    socket.destroySoon()
  })
}

async function askHealth(url: string): Promise<WebAnswer> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(connectMs) })
    let body = ''
    for await (const part of response.body ?? []) {
      body += Buffer.from(part).toString('latin1')
      if (body.length > maxHealth) return 'other'
    }
    return /^\{"status":"(?:ok|unavailable)","version":/.test(body) ? 'sterna' : 'other'
  } catch (error) {
    const { cause } = error as { cause?: unknown }
    return { fault: reasonOf(cause instanceof Error ? cause : error) }
  }
}

function clockOffset(address: string, port: number): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>()
  const socket = createSocket(isIP(address) === 6 ? 'udp6' : 'udp4')
  const timer = setTimeout(() => resolve(null), timeMs)
  let sentAt = 0
  socket.on('error', () => resolve(null))
  socket.on('connect', () => {
    sentAt = Date.now()
    socket.send(sntpRequest())
  })
  socket.on('message', (reply) => resolve(offsetIn(reply, sentAt, Date.now())))
  socket.connect(port, address)
  return promise.finally(() => {
    clearTimeout(timer)
    socket.close()
  })
}
