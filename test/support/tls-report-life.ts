import { expect } from 'vitest'
import { noPolicy } from '../../src/mail-out/delivery/tls-session.ts'
import { SessionCounts } from '../../src/notify/tls-report/session-counts.ts'
import { TlsReportRunner } from '../../src/notify/tls-report/tls-report-runner.ts'
import { findReport, hastenReport, listReports, sweepReports } from '../../src/notify/tls-report/tls-report-store.ts'
import type { TestRelay } from './start-relay.ts'

/** TLS sessions are counted, and reported to a domain that asks for it, at the second try; one that does not ask hears nothing. */
export async function reportOnTls({ relay: { services }, clock }: TestRelay): Promise<void> {
  const { db } = services
  const counts = new SessionCounts(services)
  const failure = { type: 'validation-failure' as const, reason: 'no shared cipher' }
  for (const destination of ['asks.example', 'silent.example']) {
    const session = {
      destination,
      policy: noPolicy(destination),
      mxHost: `mx.${destination}`,
      address: '192.0.2.1',
      sourceAddress: '192.0.2.9',
    }
    counts.add([
      { ...session, failure, sessions: 1 },
      { ...session, failure: null, sessions: 2 },
    ])
  }
  await counts.flush()
  let statusCode = 500
  const nextDay = { ...clock, now: () => clock.now() + 24 * 3_600_000 }
  const records = (name: string): string[] => (name === '_smtp._tls.asks.example' ? ['v=TLSRPTv1; rua=https://asks.example/'] : [])
  const runner = new TlsReportRunner(
    {
      ...services,
      clock: nextDay,
      systemMail: { newMessageId: () => '', send: async () => Promise.reject(new Error('no mail')) },
      resolver: { txt: async (name) => ({ status: 'ok', records: records(name), ttl: 0, secure: false }) },
      poster: { post: async () => ({ statusCode, response: '', error: null, durationMs: 1 }) },
      random: () => 1e-8,
    },
    { organization: 'Shop', contact: 'tls@shop.example', sender: 'tls@shop.example' },
  )
  await runner.run()
  const listed = (): Promise<object[]> => listReports(db, 'asks.example', { limit: 10, after: null, before: null })
  expect(await listed()).toMatchObject([{ state: 'due', tries: 1, sessions: 3, failures: 1 }])
  const [{ id } = { id: '' }] = await db.read<{ id: string }>('select id from tls_report')
  statusCode = 200
  await db.write([hastenReport(id, nextDay.now())])
  await runner.run()
  expect(await findReport(db, id)).toMatchObject({ state: 'sent', due_at: null })
  await sweepReports(db, nextDay.now(), clock.now())
  expect(await listed()).toHaveLength(1)
}
