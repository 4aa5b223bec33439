import { stricter, type TlsPolicy } from '../../platform/config/recipient-tls.ts'

/** What is known about mail to a domain before any host is asked. */
export interface KnownPolicies {
  /** What the sender requires of all its mail. */
  sender: TlsPolicy
  /** What the operator has set for the recipient's domain; null: nothing. */
  recipient: TlsPolicy | null
  /** TLSA records of the MX host that the DNS vouches for; `bogus`: it could not tell, and does not vouch for their absence. */
  tlsa: 'none' | 'usable' | 'unusable' | 'bogus'
  /** The recipient's MTA-STS policy (RFC 8461); null: none. */
  sts: { mode: 'enforce' | 'testing'; mx: readonly string[] } | null
}

/** What is in force at one MX host. */
export type HostPolicy =
  | { kind: TlsPolicy }
  | { kind: 'dane'; tlsa: 'usable' | 'unusable' | 'bogus'; floor: TlsPolicy }
  | { kind: 'mta-sts'; mode: 'enforce' | 'testing'; mx: readonly string[]; floor: TlsPolicy }

/** What came of TLS with a host. `problem`: why the certificate is not valid for the host; empty if it is. */
export type Shown =
  { is: 'not offered' } | { is: 'refused' | 'failed'; fault: string } | { is: 'encrypted'; problem: string; matchesTlsa?: boolean }

/** In the words of RFC 8460 4.3, and `successful`. */
export type TlsResult =
  | 'successful'
  | 'starttls-not-supported'
  | 'certificate-host-mismatch'
  | 'certificate-expired'
  | 'certificate-not-trusted'
  | 'validation-failure'
  | 'dnssec-invalid'

/** `because`: why the mail must not go to this host; null if it may. Then others are tried, and without one it is deferred. */
export interface Judgement {
  because: string | null
  /** What is worth recording about the host, whether the mail may go or not. */
  result: TlsResult
}

/**
 * What is in force: the operator's word for the domain, else DANE, else MTA-STS (RFC 8461 2: it cannot overrule DANE), and never less than
 * the sender requires.
 */
export function policyInForce({ sender, recipient, tlsa, sts }: KnownPolicies): HostPolicy {
  if (recipient !== null) return { kind: stricter(recipient, sender) }
  // Records that cannot be used still promise TLS (RFC 7672 2.2), but say no more than that.
  if (tlsa === 'unusable' && sts) return { kind: 'mta-sts', ...sts, floor: stricter('require', sender) }
  if (tlsa !== 'none') return { kind: 'dane', tlsa, floor: stricter('require', sender) }
  return sts ? { kind: 'mta-sts', ...sts, floor: sender } : { kind: sender }
}

/** True of a policy under which mail never leaves in plain text, so that TLS that fails is no reason to try without. */
export function demandsTls(policy: HostPolicy): boolean {
  if (policy.kind === 'mta-sts') return policy.mode === 'enforce' || policy.floor !== 'opportunistic'
  return policy.kind !== 'opportunistic'
}

/** Whether a host may be connected to at all; what it shows is judged later. */
export function judgeName(policy: HostPolicy, mxName: string): Judgement {
  if (policy.kind === 'dane' && policy.tlsa === 'bogus')
    return { because: 'DANE: the DNS could not vouch for its TLSA records', result: 'dnssec-invalid' }
  if (policy.kind !== 'mta-sts' || policy.mx.some((pattern) => matches(pattern, mxName))) return { because: null, result: 'successful' }
  const because = policy.mode === 'enforce' ? "MTA-STS: its name is not in the recipient's policy" : null
  return { because, result: 'validation-failure' }
}

/** RFC 8461 4.1: a wildcard stands for one label. */
function matches(pattern: string, name: string): boolean {
  if (!pattern.startsWith('*.')) return pattern === name
  const dot = name.indexOf('.')
  return dot > 0 && name.slice(dot + 1) === pattern.slice(2)
}

/** What TLS with a host has shown, under a policy. */
export function judgeTls(policy: HostPolicy, shown: Shown): Judgement {
  const fault = faultOf(policy, shown)
  if (fault === null) return { because: null, result: 'successful' }
  return { because: isForbidden(policy, shown) ? `${requirementOf(policy)}, but ${fault.words}` : null, result: fault.result }
}

interface Fault {
  words: string
  result: TlsResult
}

function faultOf(policy: HostPolicy, shown: Shown): Fault | null {
  switch (shown.is) {
    case 'not offered':
      return { words: 'the host does not offer STARTTLS', result: 'starttls-not-supported' }
    case 'refused':
      return { words: `the host refused it: ${shown.fault}`, result: 'starttls-not-supported' }
    case 'failed':
      return { words: `the handshake failed: ${shown.fault}`, result: 'validation-failure' }
    case 'encrypted':
      if (policy.kind === 'dane' && policy.tlsa === 'usable')
        return shown.matchesTlsa === true
          ? null
          : { words: 'the certificate does not match its TLSA records', result: 'validation-failure' }
      if (shown.problem === '') return null
      return { words: `the certificate is not valid for the host: ${shown.problem}`, result: certificateResult(shown.problem) }
  }
}

function isForbidden(policy: HostPolicy, shown: Shown): boolean {
  const isEncrypted = shown.is === 'encrypted'
  switch (policy.kind) {
    case 'opportunistic':
      return false
    case 'require':
      return !isEncrypted
    case 'verify':
      return true
    case 'dane':
      return policy.tlsa === 'usable' || isForbidden({ kind: policy.floor }, shown)
    case 'mta-sts':
      return policy.mode === 'enforce' || isForbidden({ kind: policy.floor }, shown)
  }
}

/** The words by which explanations know it. */
function requirementOf(policy: HostPolicy): string {
  const name = policy.kind === 'mta-sts' && policy.mode === 'testing' ? policy.floor : policy.kind
  return `TLS is required by the policy ${{ dane: 'DANE', 'mta-sts': 'MTA-STS' }[name as string] ?? name}`
}

/** Node's words for what is wrong with a certificate. */
function certificateResult(problem: string): TlsResult {
  if (problem === 'CERT_HAS_EXPIRED') return 'certificate-expired'
  return problem.includes('ALTNAME') ? 'certificate-host-mismatch' : 'certificate-not-trusted'
}
