/** What a receiver of mail reports: `dmarc` of RFC 7489 and 9990, `tls` of RFC 8460. */
export const domainReportKinds = ['dmarc', 'tls'] as const
export type DomainReportKind = (typeof domainReportKinds)[number]

/** What a DMARC record asks for, and what becomes of mail by it. */
export const dmarcPolicies = ['none', 'quarantine', 'reject'] as const
export type DmarcPolicy = (typeof dmarcPolicies)[number]

/** What both kinds say about themselves. None of it is proved: anybody can write a report. */
interface ReportMetadata {
  /** The organisation that reports, as it calls itself. */
  reporter: string
  contact: string | null
  /** Unique for the reporter. */
  reportId: string
  /** What is reported about: A-labels, lower case. */
  domain: string
  /** Epoch, ms. */
  beginAt: number
  endAt: number
}

export interface DmarcReport extends ReportMetadata {
  kind: 'dmarc'
  /** As it was published when the mail came; null where the report has none that is known. */
  policy: DmarcPolicy | null
  /** Messages of all rows, also of those left out. */
  messages: number
  /** Those of them that passed DMARC. */
  aligned: number
  rows: DmarcRow[]
  /** How many rows there were beyond the bound. */
  rowsLeftOut: number
}

/** Messages from one source with the same results. */
export interface DmarcRow {
  sourceIp: string
  messages: number
  /** What the receiver did with them. */
  disposition: DmarcPolicy
  /** Whether DKIM, and SPF, passed for a domain that is aligned with the one of the From field. */
  dkimAligned: boolean
  spfAligned: boolean
  /** Why the receiver did otherwise than the policy asks for: `forwarded`, `mailing_list` … with commas between; empty mostly. */
  overrides: string
  headerFrom: string
  envelopeFrom: string | null
  /** What was verified: `pass example.com s1, fail example.net`: result, domain, selector. */
  dkim: string
  spf: string
  /** The `domain selector` of each signature. */
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
  /** `sts`, `tlsa`, `no-policy-found`, or what else the report says. */
  policyType: string
  /** `success`; of failures the result type of RFC 8460 4.3, or `unspecified` where the report gives no details. */
  resultType: string
  sessions: number
  sendingMta: string | null
  receivingMx: string | null
  receivingIp: string | null
  reason: string | null
}

export type DomainReport = DmarcReport | TlsReport

/** Rows that are kept of one mail's reports, those with the most messages first. */
export const mostRows = 1_000

/** What is wrong with a report, in a sentence for people. */
export class ReportFault extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ReportFault'
  }
}
