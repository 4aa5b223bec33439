import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import { dateOf } from '../../notify/tls-report/tls-report.ts'
import {
  destinationsOf,
  findReport,
  hastenReport,
  listReports,
  reportStates,
  type TlsReportRow,
} from '../../notify/tls-report/tls-report-store.ts'
import type { CallTo } from '../operation/call.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { textParameter } from '../operation/query.ts'
import { resource, timeAnswer } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

const destination = z.object({
  uri: z.string().describe('A mailto or https address, as the domain publishes it.'),
  status: z.enum(reportStates),
  reason: z.string().nullable().describe('Why it has not arrived there; null if there is no fault.'),
  email_id: z.string().nullable().describe('The email that carries it; null if there is none.'),
})

/** A report on TLS that this server sends, as the API and the command line show it. */
export const sentTlsReport = resource<TlsReportRow>('SentTlsReport')({
  object: 'sent_tls_report',
  id: z.string().describe('Also its report-id.'),
  domain: z.string().describe('The domain of the recipients, which asks for the report.'),
  date: [z.iso.date().describe('The day that it is about (UTC).'), ({ day }) => dateOf(day)],
  status: [z.enum(reportStates).describe('`due`: it is tried for a day. `failed`: it was given up.'), 'state'],
  sessions: z.int().describe('Connections to mail hosts of the domain that day.'),
  failures: z.int().describe('Those of them whose TLS failed.'),
  destinations: [
    z.array(destination),
    (row) => destinationsOf(row).map(({ uri, state: status, reason, emailId }) => ({ uri, status, reason, email_id: emailId })),
  ],
  next_attempt_at: [timeAnswer.nullable(), ({ due_at: dueAt }) => isoTimeOrNull(dueAt)],
})

const sentTlsReportDetail = resource<TlsReportRow>('SentTlsReportDetail')({
  ...sentTlsReport.fields,
  report: [
    z.record(z.string(), z.unknown()).describe('As it is sent (RFC 8460 4.4).'),
    ({ report }) => JSON.parse(report ?? '{}') as Record<string, unknown>,
  ],
})

const at = operationsAt({ path: '/api/tls-reports', tag: 'Operation', permission: 'operator' })

/** `/api/tls-reports`: the reports on TLS that this server sends. */
export const tlsReportOperations = (services: Needs<'db' | 'clock'>): Operation[] => [
  at.list('tls_reports.list', '', 'List the reports on TLS that were sent', {
    description:
      'Each is about one day and one domain that asks for reports (RFC 8460): how many connections to its mail hosts were encrypted, and why ' +
      'others were not. It leaves within four hours of the end of the day.',
    query: { domain: textParameter.meta({ description: 'Only those to this domain.' }) },
    answer: ['A page, newest first.', sentTlsReport],
    rows: ({ query }, page) => listReports(services.db, query.domain?.toLowerCase(), page),
  }),
  at.get('tls_reports.get', '/{id}', 'Read a report on TLS that was sent', {
    answer: ['The report.', sentTlsReportDetail.schema],
    handle: async (call) => sentTlsReportDetail.answer(await reportIn(call, services)),
  }),
  at.post('tls_reports.send', '/{id}/send', 'Send a report on TLS now', {
    description: 'Tries a report that is due, or was given up, within a minute, and then for another day.',
    refuses: ['invalid_state'],
    answer: ['The report.', sentTlsReport.schema],
    handle: async (call) => {
      const { id, state } = await reportIn(call, services)
      if (state === 'sent') throw new SternaError('invalid_state', 'This report was sent already.')
      await services.db.write([hastenReport(id, services.clock.now())])
      return sentTlsReport.answer(await reportIn(call, services))
    },
  }),
]

async function reportIn({ params }: CallTo<'id'>, { db }: Needs<'db'>): Promise<TlsReportRow> {
  const row = await findReport(db, params.id)
  if (row) return row
  throw new SternaError('not_found', 'There is no such report.')
}
