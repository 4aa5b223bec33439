/** A refusal by a certificate authority, or the failure to reach it. */
export class AcmeProblem extends Error {
  /** The error type of RFC 8555 6.7 without its prefix, such as `rateLimited`; `unreachable` if there was no usable response. */
  readonly type: string
  /** How long the authority asks us to wait, ms; null if it does not say. */
  readonly retryAfterMs: number | null

  constructor(type: string, detail: string, { retryAfterMs = null, cause }: { retryAfterMs?: number | null; cause?: unknown } = {}) {
    super(detail, { cause })
    this.type = type
    this.retryAfterMs = retryAfterMs
  }
}

const prefix = 'urn:ietf:params:acme:error:'
/** characters */
const maxDetailLength = 500

/** What a problem document says (RFC 9457), of a response or within an authorization. */
export function problemOf(document: unknown, retryAfterMs: number | null = null): AcmeProblem {
  const { type, detail } = typeof document === 'object' && document !== null ? (document as Record<string, unknown>) : {}
  const name = typeof type === 'string' ? type.replace(prefix, '').slice(0, 100) : 'malformed'
  const text = typeof detail === 'string' ? detail.replace(/\s+/g, ' ').slice(0, maxDetailLength) : 'no reason given'
  return new AcmeProblem(name, text, { retryAfterMs })
}

/** Retry-After in ms: seconds or a date (RFC 9110 10.2.3); null if there is none that makes sense. */
export function retryAfterOf(value: string | undefined, now: number): number | null {
  if (value === undefined) return null
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return ms >= 0 ? ms : null
}
