import { request as requestPlain, type IncomingMessage } from 'node:http'
import { request as requestInTls, type RequestOptions } from 'node:https'
import type { TcpNetConnectOpts } from 'node:net'
import { guardedLookup, type GuardedLookUps } from './guarded-lookup.ts'

interface RequestSettings extends GuardedLookUps {
  headers?: Readonly<Record<string, string>>
  /** Is posted; without it, the URL is fetched. */
  body?: string
  /** In place of the URL's. */
  port?: number | undefined
  /** Certificates in PEM that are trusted; default: the public authorities. */
  authorities?: string[] | undefined
  /** Ends the request, with its reason. */
  signal: AbortSignal
  /** Throws if the answer is not wanted; its body is not read then. */
  check?(answer: IncomingMessage): void
}

/** What a host answered. */
export interface GuardedAnswer {
  status: number
  text: string
}

const maxBytes = 64 * 1024

/** A signal for a request that may take so long, with a reason that completes "It failed: …". */
export function within(ms: number): AbortSignal {
  const ending = new AbortController()
  setTimeout(() => ending.abort(new Error(`it did not answer within ${ms / 1000} seconds`)), ms).unref()
  return ending.signal
}

/**
 * Sends an HTTP request to an address that we may connect to, over TLS 1.2 or later if the URL is https, and follows no redirect, which
 * could lead elsewhere. The answer may have 64 KiB.
 * @throws Error of the network or of TLS, the reason of `signal`, or what `check` throws
 */
export function guardedRequest(url: string, settings: RequestSettings): Promise<GuardedAnswer> {
  const { headers, body, port, authorities, signal, check, ...lookUps } = settings
  return new Promise((resolve, reject) => {
    const isInTls = url.startsWith('https:')
    const options: RequestOptions & Pick<TcpNetConnectOpts, 'autoSelectFamily'> = {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'user-agent': 'Sterna', ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
      lookup: guardedLookup(lookUps),
      autoSelectFamily: true,
      agent: false,
      signal,
      ...(port !== undefined && { port }),
      ...(isInTls && { minVersion: 'TLSv1.2', ...(authorities && { ca: authorities }) }),
    }
    const sent = (isInTls ? requestInTls : requestPlain)(url, options)
    const fail = (error: unknown): void => reject((signal.aborted ? signal.reason : error) as Error)
    sent.on('error', fail)
    signal.addEventListener('abort', fail)
    // Or an answer with status 101 would settle nothing.
    sent.on('upgrade', (_, socket) => {
      socket.destroy()
      fail(new Error('it answered with status 101, for another protocol'))
    })
    sent.once('response', (answer) => {
      textOf(answer, check)
        .then((text) => resolve({ status: answer.statusCode ?? 0, text }), fail)
        .finally(() => sent.destroy())
    })
    sent.end(body)
  })
}

async function textOf(answer: IncomingMessage, check: RequestSettings['check']): Promise<string> {
  check?.(answer)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`its answer is longer than ${maxBytes / 1024} KiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
