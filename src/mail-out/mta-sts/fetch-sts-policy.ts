import type { IncomingMessage } from 'node:http'
import { request, type RequestOptions } from 'node:https'
import type { TcpNetConnectOpts } from 'node:net'
import { guardedLookup, type GuardedLookUps } from '../../platform/connection/guarded-lookup.ts'
import { reasonOf } from '../../platform/plain-reason.ts'
import { parseStsPolicy, StsFault, type StsPolicy } from './sts-policy.ts'

interface FetchSettings {
  /** 443 except in tests. */
  port: number
  /** Certificates in PEM that are trusted; undefined: the public authorities. */
  authorities: string[] | undefined
  /** Ends the fetch, with its reason. */
  signal: AbortSignal
}

/** Why no policy could be fetched: by its name in RFC 8460 4.3, and as the end of a sentence. */
export interface FetchFault {
  type: 'sts-policy-fetch-error' | 'sts-policy-invalid' | 'sts-webpki-invalid'
  reason: string
}

export type Fetched = { policy: StsPolicy } | { fault: FetchFault }

/** As RFC 8461 3.3 suggests. */
const maxBytes = 64 * 1024

/**
 * Fetches the policy of a domain (RFC 8461 3.3): over HTTPS, with a certificate for that name, without following a redirect, and past any cache.
 * Never rejects.
 */
export async function fetchStsPolicy(domain: string, services: GuardedLookUps, settings: FetchSettings): Promise<Fetched> {
  try {
    const text = await fetched(`mta-sts.${domain}`, services, settings)
    return { policy: parseStsPolicy(text) }
  } catch (error) {
    return { fault: { type: faultType(error), reason: reasonOf(error) } }
  }
}

function faultType(error: unknown): FetchFault['type'] {
  if (error instanceof StsFault) return 'sts-policy-invalid'
  const { code = '' } = error as NodeJS.ErrnoException
  return /^(?:CERT|DEPTH|SELF|UNABLE|HOSTNAME|ERR_TLS_CERT)_/.test(code) ? 'sts-webpki-invalid' : 'sts-policy-fetch-error'
}

function fetched(host: string, services: GuardedLookUps, { port, authorities, signal }: FetchSettings): Promise<string> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions & Pick<TcpNetConnectOpts, 'autoSelectFamily'> = {
      host,
      port,
      servername: host,
      path: '/.well-known/mta-sts.txt',
      headers: { 'user-agent': 'Sterna', accept: 'text/plain' },
      lookup: guardedLookup(services),
      autoSelectFamily: true,
      agent: false,
      minVersion: 'TLSv1.2',
      signal,
      ...(authorities && { ca: authorities }),
    }
    const sent = request(options)
    const fail = (error: Error): void => reject(signal.aborted ? (signal.reason as Error) : error)
    sent.on('error', fail)
    signal.addEventListener('abort', () => fail(new Error('aborted')))
    // Or an answer with status 101 would settle nothing.
    sent.on('upgrade', ({ statusCode }, socket) => {
      socket.destroy()
      fail(wrongStatus(statusCode))
    })
    sent.once('response', (response) => {
      textOf(response)
        .then(resolve, fail)
        .finally(() => sent.destroy())
    })
    sent.end()
  })
}

const wrongStatus = (status = 0): Error => new Error(`the server answered with status ${status}, where only 200 counts`)

async function textOf(response: IncomingMessage): Promise<string> {
  const { statusCode, headers } = response
  if (statusCode !== 200) throw wrongStatus(statusCode)
  const type = headers['content-type'] ?? 'no type'
  if (!/^text\/plain\s*(?:;|$)/i.test(type)) throw new Error(`the answer is ${JSON.stringify(type.slice(0, 100))}, not text/plain`)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`the answer is longer than ${maxBytes / 1024} KiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
