import { fork } from 'node:child_process'
import { once } from 'node:events'
import { testCertificate } from '../test/support/test-certificates.ts'
import { freePort } from './free-port.ts'

export interface Order {
  /** Different ones, numbered by X-Bench. */
  messages: number
  /** Tells what has come then, all or not. */
  seconds: number
}

export interface Received {
  delivered: number
  duplicates: number
  /** With a DKIM signature. */
  signed: number
  /** When the last one came, by the clock. */
  lastAt: number
  /** From the first command for a message to its arrival. */
  p50Ms: number
  p95Ms: number
  p99Ms: number
  cpuSeconds: number
  /** TLS handshakes, and those that resumed a session. */
  handshakes: number
  resumed: number
}

/** The next hop of a server under test, a process of its own. */
export interface Sink {
  host: string
  port: number
  /** What comes from now on. */
  receive(order: Order): Promise<Received>
  stop(): void
}

export interface SinkOptions {
  /** Offered, with a certificate that nobody knows. */
  starttls?: boolean
  /** How long it takes to answer the end of a message. */
  delayMs?: number
  /** That of another sink, at another address; default: a free one. */
  port?: number
}

/** @param host an address of its own, 127.x, for it is what a name server tells */
export async function startSink(host: string, { starttls = false, delayMs = 0, port: given }: SinkOptions = {}): Promise<Sink> {
  const port = given ?? (await freePort())
  const certificate = starttls ? await testCertificate(['sink.example']) : null
  const child = fork(new URL('smtp-sink.ts', import.meta.url), [host, String(port), JSON.stringify(certificate), String(delayMs)])
  await once(child, 'message')
  return {
    host,
    port,
    async receive(order) {
      child.send(order)
      const [received] = (await once(child, 'message')) as [Received]
      return received
    },
    stop: () => void child.disconnect(),
  }
}
