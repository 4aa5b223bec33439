import { z } from 'zod'
import type { DomainReportRow } from '../../mail-back/domain-report/domain-report-list.ts'
import type { DmarcRowRow, TlsRowRow } from '../../mail-back/domain-report/domain-report-rows.ts'
import { domainReportKinds, maxRows } from '../../mail-back/domain-report/domain-report.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { dmarcPolicies } from '../../senders/sending-domain/dmarc-record.ts'
import { pageParameters } from '../operation/page.ts'
import { choiceParameter, endParameter, numberParameter, timeParameter } from '../operation/query.ts'
import { flag, resource, time, timeAnswer } from '../operation/resource.ts'

export const periodParameters = {
  since: timeParameter.meta({ description: 'A time or a date: reports that end later; default: 30 days ago.' }),
  until: endParameter.meta({ description: 'A time, or a date that is included: reports that begin earlier; default: now.' }),
}

export const reportParameters = {
  kind: choiceParameter(domainReportKinds),
  since: timeParameter.meta({ description: 'A time or a date: reports that end later.' }),
  until: endParameter.meta({ description: 'A time, or a date that is included: reports that begin earlier.' }),
}

export const domainReport = resource<DomainReportRow>('DomainReport')({
  object: 'domain_report',
  id: z.string(),
  kind: z.enum(domainReportKinds),
  domain: z.string().describe('What the report is about: the domain, or its return path.'),
  reporter: z.string().describe('Who reports, by their own claim: it is not proved.'),
  contact: z.string().nullable(),
  report_id: z.string().describe("The reporter's own id."),
  start_date: [timeAnswer, (row) => isoTime(row.begin_at)],
  end_date: [timeAnswer, (row) => isoTime(row.end_at)],
  received_at: time(),
  policy: z.enum(dmarcPolicies).nullable().describe('Of a DMARC report: the policy that the reporter found.'),
  total: z.int().describe('Messages in a DMARC report, sessions in a TLS report.'),
  failed: z.int().describe('How many of these did not pass.'),
  rows_left_out: z.int().describe('The number of further rows in the report that were not kept; the totals include them.'),
  reverse_path: z.string().nullable().describe('The sender of the mail that brought the report; not proved.'),
  remote_address: z.string().describe('The host that delivered that mail.'),
})

/** Rows have positions instead of ids: they are few, and their order never changes. */
export const rowParameters = {
  limit: pageParameters.limit,
  after: numberParameter(0, maxRows).meta({ description: 'Returns the rows after this `place`, the last one of the previous page.' }),
  before: numberParameter(0, maxRows).meta({ description: 'Returns the rows before this `place`.' }),
}

const place = z.int().describe('The position of the row, from 0.')

export const authResults = {
  dkim: z.string().describe('What was verified: result, domain and selector of each signature.'),
  spf: z.string().describe('The result and the domain.'),
}

export const policyType = z.string().describe('`sts`, `tlsa`, `no-policy-found` …')
export const resultType = z.string().describe('`success`, or the failure type of RFC 8460 4.3; `unspecified` if the report does not say.')

export const dmarcRow = resource<DmarcRowRow>('DmarcRow')({
  object: 'dmarc_row',
  place,
  ip_address: [z.string().describe('Where the messages came from.'), 'source_ip'],
  messages: z.int(),
  disposition: z.enum(dmarcPolicies).describe('What the receiver did with them.'),
  dkim_aligned: flag('DKIM passed for a domain that is aligned with that of the From field.'),
  spf_aligned: flag('SPF passed for a domain that is aligned with that of the From field.'),
  overrides: [
    z.array(z.string()).describe('Why the receiver deviated from the policy: `forwarded`, `mailing_list` …'),
    ({ overrides }) => (overrides === '' ? [] : overrides.split(', ')),
  ],
  header_from: z.string().describe('The domain of the From field.'),
  envelope_from: z.string().nullable(),
  ...authResults,
  signed_here: flag('A signature, valid or not, has a selector of this server.'),
})

export const tlsRow = resource<TlsRowRow>('TlsRow')({
  object: 'tls_row',
  place,
  policy_type: policyType,
  result_type: resultType,
  sessions: z.int(),
  sending_mta: z.string().nullable(),
  receiving_mx: z.string().nullable(),
  receiving_ip: z.string().nullable(),
  reason: z.string().nullable(),
})

export const domainReportRow = z.discriminatedUnion('object', [dmarcRow.schema, tlsRow.schema])
