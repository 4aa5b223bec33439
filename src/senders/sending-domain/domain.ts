import { systemAccountId } from '../account/system-account.ts'
import type { DkimAlgorithm } from './domain-keys.ts'
import type { DomainFields } from './domain-object.ts'

/** Only `verified` domains may send. */
export const domainStatuses = ['not_started', 'pending', 'verified', 'failed'] as const
type DomainStatus = (typeof domainStatuses)[number]
/** `temporary_failure`: it was found before and is missing now. */
export const recordStatuses = ['not_started', 'pending', 'verified', 'failed', 'temporary_failure'] as const
export type RecordStatus = (typeof recordStatuses)[number]

/** The records that are checked; `next-…` are those of keys that will take over. */
export const recordKinds = [
  'dkim-rsa',
  'dkim-ed25519',
  'next-dkim-rsa',
  'next-dkim-ed25519',
  'return-path-mx',
  'return-path-spf',
  'dmarc',
  'tracking',
] as const
export type RecordKind = (typeof recordKinds)[number]

/** A domain needs these to be verified; the others are recommended. */
const requiredKinds: RecordKind[] = ['dkim-rsa', 'return-path-mx', 'return-path-spf']
/** The server's own mail has the null reverse-path. */
const requiredOfSystem: RecordKind[] = ['dkim-rsa']

export const requiredKindsOf = (domain: Pick<Domain, 'accountId'>): RecordKind[] =>
  isSystemDomain(domain) ? requiredOfSystem : requiredKinds

/** True of the server's own domain: the name of this server, which sends its notices. */
export const isSystemDomain = ({ accountId }: Pick<Domain, 'accountId'>): boolean => accountId === systemAccountId

/**
 * `next`: its record is to be published; it signs once that is found. `active`: signs. `retired`: no longer signs, but its record must stay
 * while mail that it signed is under way.
 */
export type KeyState = 'next' | 'active' | 'retired'

export interface DomainKey {
  /** `dk_…` */
  id: string
  selector: string
  algorithm: DkimAlgorithm
  /** The value of p= in its DNS record. */
  publicKey: string
  state: KeyState
  /** When its record was last found (epoch, ms), or was declared found by hand; an Ed25519 key signs only while this is set. */
  seenAt: number | null
  /** For a retired key: until when its record must stay (epoch, ms). */
  keepUntil: number | null
  /** Epoch, ms. */
  createdAt: number
}

/**
 * Why a record is not as wanted. `several`: there may be only one SPF, DMARC or DKIM record at a name. `quoted`: it is right but for
 * quotation marks or backslashes in its value. `doubled_name`: it is at a name to which the DNS provider has appended the zone once more.
 * `unreachable`: the name servers did not answer.
 */
export const recordReasons = ['missing', 'differs', 'several', 'quoted', 'doubled_name', 'unreachable'] as const
export type RecordReason = (typeof recordReasons)[number]

/** What the last check said about a record. */
export interface RecordState {
  status: RecordStatus
  /** Null if it is as wanted. */
  reason: RecordReason | null
  found: string | null
  checkedAt: number
}

/**
 * A domain that an account sends from. Its name is unique within the account; other accounts may have the same. Reverse-paths are at
 * `returnPathLabel` under it; '' for the server's own domain, which has none. Times are epoch, ms.
 */
export interface Domain extends DomainFields {
  /** `dom_…` */
  id: string
  accountId: string
  status: DomainStatus
  /** True while MX and SPF of the return path are found; otherwise the default return path is used. */
  returnPathSeen: boolean
  /** What its tracking host serves below `/.well-known`, JSON by file: apps open links of a host that names them. */
  appLinks: Record<string, string>
  checkedAt: number | null
  verifiedAt: number | null
  /** Since when a required record has been missing; for a pending domain since its verification was requested. */
  missingSince: number | null
  createdAt: number
  /** Its owner has removed it; it stays for the mail that was accepted from it. */
  removedAt: number | null
  /** Active ones first, and RSA first within each state. */
  keys: DomainKey[]
  /** Nothing before the first check. */
  records: Partial<Record<RecordKind, RecordState>>
  /** How often any of it was changed. */
  revision: number
}

/** True of a record that was found, or was found before and is missing now. */
export const wasFound = ({ records }: Pick<Domain, 'records'>, kind: RecordKind): boolean =>
  records[kind]?.status === 'verified' || records[kind]?.status === 'temporary_failure'
