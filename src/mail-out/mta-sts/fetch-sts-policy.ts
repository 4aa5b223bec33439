import type { IncomingMessage } from 'node:http'
import type { GuardedLookUps } from '../../platform/connection/guarded-lookup.ts'
import { guardedRequest } from '../../platform/connection/guarded-request.ts'
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

/**
 * Fetches the policy of a domain (RFC 8461 3.3): over HTTPS, with a certificate for that name, without following a redirect, past any
 * cache, and at most the 64 KiB that RFC 8461 suggests. Never rejects.
 */
export async function fetchStsPolicy(domain: string, services: GuardedLookUps, settings: FetchSettings): Promise<Fetched> {
  try {
    const url = `https://mta-sts.${domain}/.well-known/mta-sts.txt`
    const { text } = await guardedRequest(url, { ...services, ...settings, headers: { accept: 'text/plain' }, check: checkAnswer })
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

function checkAnswer({ statusCode, headers }: IncomingMessage): void {
  if (statusCode !== 200) throw new Error(`the server answered with status ${statusCode}, where only 200 counts`)
  const type = headers['content-type'] ?? 'no type'
  if (!/^text\/plain\s*(?:;|$)/i.test(type)) throw new Error(`the answer is ${JSON.stringify(type.slice(0, 100))}, not text/plain`)
}
