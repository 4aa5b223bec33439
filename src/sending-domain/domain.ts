import type { DkimAlgorithm } from './domain-keys.ts'

/** Mail may be sent from `verified` domains only. */
export type DomainStatus = 'not_started' | 'pending' | 'verified' | 'failed'
/** `temporary_failure`: it was found before and is missing now. */
export type RecordStatus = 'not_started' | 'pending' | 'verified' | 'failed' | 'temporary_failure'

export const recordKinds = ['dkim-rsa', 'dkim-ed25519', 'return-path-mx', 'return-path-spf', 'dmarc'] as const
export type RecordKind = (typeof recordKinds)[number]

/** Without these a domain is not verified; the others are good to have. */
export const requiredKinds: RecordKind[] = ['dkim-rsa', 'return-path-mx', 'return-path-spf']

/** `enforced`: this domain's mail never leaves without TLS to a host whose certificate is valid. */
export type DomainTls = 'opportunistic' | 'enforced'

export interface DomainKey {
  /** `dk_…` */
  id: string
  selector: string
  algorithm: DkimAlgorithm
  /** What p= of its DNS record holds. */
  publicKey: string
  /** When its record was last found (epoch, ms), or taken as found by hand; an Ed25519 key signs only while it is set. */
  seenAt: number | null
}

/** What the last check said of a record. */
export interface RecordState {
  status: RecordStatus
  found: string | null
  checkedAt: number
}

/** A domain that an account sends from. Times are epoch, ms. */
export interface Domain {
  /** `dom_…` */
  id: string
  accountId: string
  /** A-labels, lower case. Unique in the account; other accounts may have the same. */
  name: string
  status: DomainStatus
  /** The reverse-path is at this label under the domain. */
  returnPathLabel: string
  /** True while MX and SPF of the return path are found; else the default return path is used. */
  returnPathSeen: boolean
  tls: DomainTls
  checkedAt: number | null
  verifiedAt: number | null
  /** Since when a required record has been missing: of a pending domain since its verification was asked for. */
  missingSince: number | null
  createdAt: number
  /** RSA first. */
  keys: DomainKey[]
  /** Nothing before the first check. */
  records: Partial<Record<RecordKind, RecordState>>
}
