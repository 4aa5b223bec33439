import { isPublicAddress } from '../../platform/ip-address.ts'
import { textOfTlsa } from './dane.ts'
import { noneUsable, tlsObjection, type DomainSts, type Shown, type TransportPolicy } from './transport-policy.ts'

/** How a session failed (RFC 8460 4.3), as far as an attempt can tell. */
export const tlsResultTypes = [
  'starttls-not-supported',
  'certificate-host-mismatch',
  'certificate-expired',
  'certificate-not-trusted',
  'validation-failure',
  'tlsa-invalid',
  'dnssec-invalid',
  'dane-required',
  'sts-policy-fetch-error',
  'sts-policy-invalid',
  'sts-webpki-invalid',
] as const
export type TlsResultType = (typeof tlsResultTypes)[number]

/** What the receiver has published on TLS (RFC 8460 4.2), by which a session is judged. */
export interface PublishedTlsPolicy {
  type: 'sts' | 'tlsa' | 'no-policy-found'
  /** Its lines, or its TLSA records. */
  strings: readonly string[]
  /** The recipient's domain; for TLSA records, the name that they belong to. */
  domain: string
  /** The patterns of an MTA-STS policy. */
  mxHosts: readonly string[]
}

export const noPolicy = (domain: string): PublishedTlsPolicy => ({ type: 'no-policy-found', strings: [], domain, mxHosts: [] })

/** Of a host whose TLSA records are not known. */
export const noRecords = (host: string): PublishedTlsPolicy => ({ type: 'tlsa', strings: [], domain: host, mxHosts: [] })

/** What a session under this policy is judged by. */
export function publishedFor(policy: TransportPolicy, destination: string): PublishedTlsPolicy {
  const tlsa = policy.unusable ?? (policy.mode === 'dane' ? policy.records : null)
  if (tlsa === null) {
    const { published } = policy.tested ?? policy
    return published ? policyOfSts(published) : noPolicy(destination)
  }
  const { records, base } = tlsa
  return { type: 'tlsa', strings: records.map(textOfTlsa).toSorted(), domain: base, mxHosts: [] }
}

/** As its text has it. */
function policyOfSts(published: DomainSts): PublishedTlsPolicy {
  const { domain } = published
  if ('fault' in published) return { type: 'sts', strings: [], domain, mxHosts: [] }
  const { mode, mx, maxAgeMs } = published.policy
  const strings = ['version: STSv1', `mode: ${mode}`, ...mx.map((name) => `mx: ${name}`), `max_age: ${maxAgeMs / 1000}`]
  return { type: 'sts', strings, domain, mxHosts: mx }
}

/** Of a host that the policy does not list. */
export const unlisted = (reason: string): SessionFailure => ({ type: 'validation-failure', reason })

/** One session with a host, as a report on TLS counts it: a new connection, however many messages it carries. */
export interface TlsSession {
  /** Of the mail that it was opened for. */
  destination: string
  policy: PublishedTlsPolicy
  mxHost: string
  address: string
  /** Ours; null if it is not known, or not public. */
  sourceAddress: string | null
  failure: SessionFailure | null
}

/** The same for sessions of which a report says the same: all but the reason of a failure. */
export function sessionKey({ destination, policy, mxHost, address, sourceAddress, failure }: TlsSession): string {
  const judgedBy = `${destination} ${policy.type} ${policy.domain} ${policy.strings.join(' ')}`
  return failure ? `${failure.type} ${mxHost} ${address} ${sourceAddress} ${judgedBy}` : judgedBy
}

export interface SessionFailure {
  type: TlsResultType
  /** In the words of the host or of OpenSSL. */
  reason: string
}

/** The address that we connected from, as a stranger may know it: behind NAT it is one of our own network, which tells him nothing. */
export const toldSource = (address: string | undefined): string | null =>
  address !== undefined && isPublicAddress(address) ? address : null

/** What came of TLS, whatever else is asked of the host. */
export type SessionShown = Exclude<Shown, { is: 'not passed on' }>

/**
 * What the receiver should hear of a session. A certificate that is not valid is a failure only where the receiver's policy or ours asks for
 * a valid one. @returns null for a success
 */
export function failureOf(
  shown: SessionShown,
  { mode, tested, published, unusable }: Pick<TransportPolicy, 'mode' | 'tested' | 'published' | 'unusable'>,
  { type }: Pick<PublishedTlsPolicy, 'type'>,
): SessionFailure | null {
  if (type === 'sts' && tested?.closed !== undefined) return unlisted(tested.closed)
  if (type === 'sts' && published && 'fault' in published) return published.fault
  switch (shown.is) {
    case 'unproved':
      return { type: shown.result, reason: shown.fault }
    case 'not offered':
      return { type: 'starttls-not-supported', reason: 'EHLO does not offer STARTTLS' }
    case 'refused':
      return { type: 'starttls-not-supported', reason: shown.fault }
    case 'failed':
      return { type: 'validation-failure', reason: shown.fault }
    case 'encrypted': {
      const isJudged = mode === 'verify' || (type !== 'no-policy-found' && !unusable)
      if (isJudged && shown.problem !== '') return { type: certificateFault(shown.problem), reason: shown.problem }
      return unusable ? { type: 'tlsa-invalid', reason: noneUsable } : null
    }
  }
}

/** What `tlsObjection` says; under DANE with the name that reports on TLS have for it. */
export function namedObjection(policy: TransportPolicy, shown: Shown): string | null {
  const objection = tlsObjection(policy, shown)
  if (policy.mode !== 'dane' || shown.is === 'not passed on') return objection
  const failure = failureOf(shown, policy, { type: 'tlsa' })
  return objection && failure ? `${objection} (${failure.type})` : objection
}

/** @param problem the code of OpenSSL or Node */
function certificateFault(problem: string): TlsResultType {
  if (problem === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'certificate-host-mismatch'
  if (problem === 'CERT_HAS_EXPIRED') return 'certificate-expired'
  return /SELF_SIGNED|ISSUER|UNTRUSTED|VERIFY_LEAF|SIGNATURE/.test(problem) ? 'certificate-not-trusted' : 'validation-failure'
}
