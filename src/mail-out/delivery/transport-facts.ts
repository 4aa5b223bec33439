import type { TlsPolicy } from '../../platform/config/recipient-tls.ts'
import { testResult, type PolicySource, type TransportPolicy } from './transport-policy.ts'

/** What a handshake has shown. */
export interface ConnectionTls {
  /** `TLSv1.3` */
  version: string
  cipher: string
  /** Of the key exchange; null where there was none of its own. */
  group: string | null
  /** True if the certificate is valid for the MX host. */
  verified: boolean
  /** Why the certificate is not valid for the host; empty if it is. */
  problem: string
  /** True of a session that an earlier connection has begun. */
  isResumed: boolean
  /** True if only classical groups were offered, because the host drops large hellos. */
  isClassical: boolean
}

/** How mail travels to the next host; `verified`: over TLS, with a certificate that is valid for the host. */
export const transports = ['plain', 'encrypted', 'verified'] as const
export type Transport = (typeof transports)[number]

export const transportOf = (tls: ConnectionTls | null): Transport => (tls === null ? 'plain' : tls.verified ? 'verified' : 'encrypted')

/** What an attempt says of its TLS. What is usual, TLS that was not offered where none is required included, takes no room. */
interface StoredFacts {
  version?: string
  cipher?: string
  group?: string
  verified?: boolean
  /** Why the certificate is not valid for the host, or why the mail travels in plain text although TLS was offered. */
  problem?: string
  resumed?: true
  classical?: true
  /** Null: not known. */
  policy?: TlsPolicy | null
  /** Whose policy it is; `opportunistic` is nobody's. */
  source?: PolicySource
  /** Of an MTA-STS policy in testing: what it has against the host; true: nothing. */
  testing?: string | true
}

/** Of an attempt that ended before it was known what its connection must fulfil. */
export const textOfUnknown = JSON.stringify({ policy: null } satisfies StoredFacts)

/**
 * @param tls null without TLS, or without a connection
 * @param testing see `testResult`
 * @returns JSON; null: nobody requires TLS, and there is none
 */
export function textOfTls(
  policy: TransportPolicy,
  tls: ConnectionTls | null,
  testing: string | true | undefined = tls ? testResult(policy, { is: 'encrypted', problem: tls.problem }) : untested(policy),
): string | null {
  const { mode, source } = policy
  if (tls === null && source === null && testing === undefined) return null
  const required = { ...(source !== null && { policy: mode, source }), ...(testing !== undefined && { testing }) }
  if (tls === null) return JSON.stringify(required)
  const { version, cipher, group, verified, problem, isResumed, isClassical } = tls
  return JSON.stringify({
    version,
    cipher,
    verified,
    ...(group !== null && { group }),
    ...(verified ? {} : { problem }),
    ...(isResumed && { resumed: true }),
    ...(isClassical && { classical: true }),
    ...required,
  } satisfies StoredFacts)
}

/** Without a connection nothing is known but whether the host is listed. */
const untested = ({ tested }: TransportPolicy): string | true | undefined => tested && (tested.closed ?? true)

/** The same for mail that travels in plain text because TLS failed, or was refused. */
export function textOfPlain(policy: TransportPolicy, is: 'failed' | 'refused', problem: string): string {
  const testing = testResult(policy, { is, fault: problem })
  return JSON.stringify({ problem, ...(testing !== undefined && { testing }) } satisfies StoredFacts)
}

/** Reads what these have written, now or in an earlier version. */
export function readTlsText(text: string | null) {
  const { version, cipher, group, verified, problem, resumed, classical, policy, source, testing } = JSON.parse(text ?? '{}') as StoredFacts
  return {
    policy: policy === undefined ? ('opportunistic' as const) : policy,
    source: source ?? null,
    sts:
      testing !== undefined
        ? { mode: 'testing' as const, objection: testing === true ? null : testing }
        : source === 'mta_sts'
          ? { mode: 'enforce' as const, objection: null }
          : null,
    tls:
      version === undefined
        ? null
        : {
            version,
            cipher: cipher ?? '',
            group: group ?? null,
            verified: verified === true,
            problem: problem ?? null,
            resumed: resumed === true,
            classical_only: classical === true,
          },
    /** Why the mail travelled in plain text although the host offers TLS. */
    plainBecause: version === undefined ? (problem ?? null) : null,
  }
}
