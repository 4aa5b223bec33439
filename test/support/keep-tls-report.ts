import { changeReport, planReport, type TlsReportRow } from '../../src/notify/tls-report/tls-report-store.ts'
import { noPolicy } from '../../src/mail-out/delivery/tls-session.ts'
import { dayMs, tlsReport } from '../../src/notify/tls-report/tls-report.ts'
import type { BaseServices } from '../../src/platform/base-services.ts'
import { newId } from '../../src/platform/id.ts'

/** A report on TLS that is due, and cannot be delivered; gives its id. */
export async function keepTlsReport({ db, clock }: Pick<BaseServices, 'db' | 'clock'>): Promise<string> {
  const [id, domain] = [newId('tlr', clock.now()), 'asks.example']
  const day = Math.floor(clock.now() / dayMs) - 1
  const report = tlsReport({ id, day, organization: 'Shop', contact: 'tls@shop.example' }, [
    { policy: noPolicy(domain), failure: null, sessions: 1 },
  ])
  const uri = `https://${domain}/tls`
  await db.write([planReport(id, { day, domain }, clock.now() + dayMs)])
  const [planned] = await db.read<TlsReportRow>('select * from tls_report where id = :id', { id })
  if (!planned) throw new Error('the report was not planned')
  const destinations = JSON.stringify([{ uri, state: 'due', reason: 'No response.', emailId: null }])
  await db.write([changeReport(planned, { ...planned, report: JSON.stringify(report), destinations, sessions: 1 })])
  return id
}
