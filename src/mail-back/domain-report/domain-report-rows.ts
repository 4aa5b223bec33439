import type { Database, Row } from '../../platform/store/database.ts'
import { pageClause, type Page } from '../../platform/store/page-clause.ts'
import type { DmarcPolicy } from '../../senders/sending-domain/dmarc-record.ts'

/** A row of a DMARC report: messages from one address with the same results. */
export interface DmarcRowRow extends Row {
  /** The position in the report, from 0. */
  place: number
  source_ip: string
  messages: number
  disposition: DmarcPolicy
  dkim_aligned: number
  spf_aligned: number
  /** Separated by `, `; usually empty. */
  overrides: string
  header_from: string
  envelope_from: string | null
  dkim: string
  spf: string
  signed_here: number
}

/** A row of a TLS report: sessions with the same result. */
export interface TlsRowRow extends Row {
  place: number
  policy_type: string
  result_type: string
  sessions: number
  sending_mta: string | null
  receiving_mx: string | null
  receiving_ip: string | null
  reason: string | null
}

/** A page of a DMARC report's rows in order, with one extra row, for `pageClause`. `reportId`: `drp_…` */
export function readDmarcRows(db: Pick<Database, 'slowRead'>, reportId: string, page: Page<number>): Promise<DmarcRowRow[]> {
  const { condition, order, params } = pageClause(page, 'place', 'asc')
  return db.slowRead<DmarcRowRow>(
    `select place, source_ip, messages, disposition, dkim_aligned, spf_aligned, overrides, header_from, envelope_from, dkim, spf, signed_here
       from dmarc_row where report_id = :reportId and ${condition} ${order}`,
    { reportId, ...params },
  )
}

/** The same for a TLS report. */
export function readTlsRows(db: Pick<Database, 'slowRead'>, reportId: string, page: Page<number>): Promise<TlsRowRow[]> {
  const { condition, order, params } = pageClause(page, 'place', 'asc')
  return db.slowRead<TlsRowRow>(
    `select place, policy_type, result_type, sessions, sending_mta, receiving_mx, receiving_ip, reason
       from tls_row where report_id = :reportId and ${condition} ${order}`,
    { reportId, ...params },
  )
}
