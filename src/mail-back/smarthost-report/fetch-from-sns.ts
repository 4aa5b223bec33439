import type { IncomingMessage } from 'node:http'
import { request, type RequestOptions } from 'node:https'
import type { TcpNetConnectOpts } from 'node:net'
import { guardedLookup, type GuardedLookUps } from '../../platform/connection/guarded-lookup.ts'
import type { FetchFromSns } from './sns-certificates.ts'

interface FetchSettings extends GuardedLookUps {
  /** 443 except in tests. */
  port?: number
  /** Certificates in PEM that are trusted; default: the public authorities. */
  authorities?: string[]
}

const timeoutMs = 10_000
const maxBytes = 64 * 1024

/** Fetches what SNS has at a URL, over TLS with a valid certificate, and without following a redirect. */
export const fetchFromSns =
  ({ port, authorities, ...lookUps }: FetchSettings): FetchFromSns =>
  (url) =>
    new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(timeoutMs)
      const options: RequestOptions & Pick<TcpNetConnectOpts, 'autoSelectFamily'> = {
        headers: { 'user-agent': 'Sterna' },
        lookup: guardedLookup(lookUps),
        autoSelectFamily: true,
        agent: false,
        minVersion: 'TLSv1.2',
        signal,
        ...(port !== undefined && { port }),
        ...(authorities && { ca: authorities }),
      }
      const sent = request(url, options)
      const fail = (error: Error): void =>
        reject(signal.aborted ? new Error(`SNS did not answer within ${timeoutMs / 1000} seconds`) : error)
      sent.on('error', fail)
      signal.addEventListener('abort', () => fail(new Error('aborted')))
      // Or an answer with status 101 would settle nothing.
      sent.on('upgrade', (_, socket) => {
        socket.destroy()
        fail(new Error('SNS answered with another protocol'))
      })
      sent.once('response', (response) => {
        textOf(response)
          .then((text) => resolve({ status: response.statusCode ?? 0, text }), fail)
          .finally(() => sent.destroy())
      })
      sent.end()
    })

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`what SNS answered is longer than ${maxBytes / 1024} KiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
