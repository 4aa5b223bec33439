import type { GuardedLookUps } from '../../platform/connection/guarded-lookup.ts'
import { guardedRequest, within } from '../../platform/connection/guarded-request.ts'
import type { FetchFromSns } from './sns-certificates.ts'

interface FetchSettings extends GuardedLookUps {
  /** 443 except in tests. */
  port?: number
  /** Certificates in PEM that are trusted; default: the public authorities. */
  authorities?: string[]
}

const timeoutMs = 10_000

/** Fetches what SNS has at a URL, over TLS with a valid certificate, and without following a redirect. */
export const fetchFromSns =
  (settings: FetchSettings): FetchFromSns =>
  (url) =>
    guardedRequest(url, { ...settings, signal: within(timeoutMs) })
