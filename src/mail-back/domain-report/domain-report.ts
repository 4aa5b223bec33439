import type { DmarcPolicy } from '../../senders/sending-domain/dmarc-record.ts'

/** The two kinds of report: `dmarc` (RFC 7489 and 9990) and `tls` (RFC 8460). */
export const domainReportKinds = ['dmarc', 'tls'] as const
export type DomainReportKind = (typeof domainReportKinds)[number]

/** What both kinds have in common. None of it is proved, because anybody can write a report. */
interface ReportMetadata {
  /** The reporting organisation, by its own name. */
  reporter: string
  contact: string | null
  /** Unique per reporter. */
  reportId: string
  /** The reported domain: A-labels, lower case. */
  domain: string
  /** Epoch, ms. */
  beginAt: number
  endAt: number
}

export interface DmarcReport extends ReportMetadata {
  kind: 'dmarc'
  /** The policy that the receiver found; null if the report names no known one. */
  policy: DmarcPolicy | null
  /** Over all rows, including those left out. */
  messages: number
  /** Messages that passed DMARC. */
  aligned: number
  rows: DmarcRow[]
  /** Rows beyond the limit. */
  rowsLeftOut: number
}

/** Messages from one source with the same results. */
export interface DmarcRow {
  sourceIp: string
  messages: number
  /** What the receiver did with them. */
  disposition: DmarcPolicy
  /** Whether DKIM (or SPF) passed for a domain aligned with the From domain. */
  dkimAligned: boolean
  spfAligned: boolean
  /** Why the receiver deviated from the policy: `forwarded`, `mailing_list` …, separated by commas; usually empty. */
  overrides: string
  headerFrom: string
  envelopeFrom: string | null
  /** What was verified, as result, domain and selector: `pass example.com s1, fail example.net`. */
  dkim: string
  spf: string
  /** `domain selector` of each signature. */
  signatures: string[]
}

export interface TlsReport extends ReportMetadata {
  kind: 'tls'
  sessions: number
  failures: number
  rows: TlsRow[]
  rowsLeftOut: number
}

/** Sessions with the same result. */
export interface TlsRow {
  /** `sts`, `tlsa`, `no-policy-found`, or another value from the report. */
  policyType: string
  /** `success`, or the failure's result type (RFC 8460 4.3), or `unspecified` if the report gives no details. */
  resultType: string
  sessions: number
  sendingMta: string | null
  receivingMx: string | null
  receivingIp: string | null
  reason: string | null
}

export type DomainReport = DmarcReport | TlsReport

/** Rows stored per message, those with the most messages first. */
export const maxRows = 1_000

/** What is wrong with a report, as a sentence. */
export class ReportFault extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ReportFault'
  }
}
