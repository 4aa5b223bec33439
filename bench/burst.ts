import { spawn } from 'node:child_process'
import type { Peer } from './postfix-peer.ts'
import type { Received, Sink } from './sink.ts'

/** What is sent, and how. */
export interface Load {
  messages: number
  /** Bytes of body. */
  size: number
  connections: number
  /** Messages that each connection carries before the next is made. */
  perConnection: number
  recipientDomains: number
  /** Whether opens and clicks are to be tracked; undefined: the message has no links. */
  tracked?: boolean | undefined
  /** Clients and next hop both. */
  starttls?: boolean
  /** Clients that have never been there: none resumes a TLS session. */
  newClients?: boolean
}

/** What the generator is told. */
export interface SmtpLoad extends Load {
  host: string
  /** The first connection goes to the first, and so on in turn. */
  ports: number[]
  user?: string | undefined
  password?: string | undefined
  from: string
  /** The number of the first message. */
  first: number
  seconds: number
}

export interface Sent {
  accepted: number
  failed: number
  /** By the clock. */
  startedAt: number
  /** From the first command for a message to its 250. */
  p50Ms: number
  p99Ms: number
  cpuSeconds: number
  /** TLS handshakes, and those that resumed a session. */
  handshakes: number
  resumed: number
}

/** No burst takes longer. */
const seconds = 120

let sentSoFar = 0

/** Sends so many messages to a server, and waits until all are at its next hop. */
export async function sendBurst(peer: Peer, sink: Sink, load: Load): Promise<{ sent: Sent; received: Received }> {
  const { host, ports, user, password } = peer
  const received = sink.receive({ messages: load.messages, seconds })
  const smtp: SmtpLoad = { ...load, host, ports, user, password, seconds, from: 'bounce@sender.example', first: sentSoFar }
  sentSoFar += load.messages
  return { sent: await runGenerator<Sent>('smtp-generator.ts', smtp), received: await received }
}

/** Runs a program of this folder that sends what its argument says, and prints JSON when it is done. */
export function runGenerator<Figures>(name: string, load: object): Promise<Figures> {
  const program = new URL(name, import.meta.url).pathname
  const child = spawn(process.execPath, [program, JSON.stringify(load)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()))
  return new Promise((resolve, reject) => {
    child.on('close', () => (output ? resolve(JSON.parse(output) as Figures) : reject(new Error(`${name} failed`))))
  })
}
