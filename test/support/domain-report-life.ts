import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { sweepDomainReports } from '../../src/mail-back/domain-report/domain-report-store.ts'
import { composeDmarcReport, reportMail } from './compose-domain-report.ts'
import { SmtpClient } from './smtp-client.ts'
import type { TestRelay } from './start-relay.ts'

const day = 86_400_000

/** Receivers report about the relay's domain, and this is read, and swept out when it is old. */
export async function hearOfDomains(relay: TestRelay): Promise<void> {
  const { db } = relay.relay.services
  const midnight = Math.floor(relay.clock.now() / day) * day
  const tls = JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures/tls/failures.json'), 'utf8'))
  tls['date-range'] = { 'start-datetime': new Date(midnight - day).toISOString(), 'end-datetime': new Date(midnight).toISOString() }
  const dmarc = composeDmarcReport({
    beginAt: midnight - day,
    reporter: "O'Receiver",
    rows: [
      { sourceIp: '192.0.2.25', messages: 2, dkimAligned: true, spfAligned: false },
      { sourceIp: '198.51.100.7', messages: 1, dkimAligned: false, spfAligned: false, disposition: 'reject' },
    ],
  })
  const attachments = [
    { type: 'text/xml', content: Buffer.from(dmarc) },
    { type: 'application/tlsrpt+json', content: Buffer.from(JSON.stringify(tls)) },
  ]
  for (let time = 0; time < 2; time++) {
    const client = await SmtpClient.connect(relay.returnPathPort)
    await client.command('EHLO mx.receiver.example')
    expect((await client.send(reportMail(attachments), { to: ['dmarc-reports@relay.example'] })).code).toBe(250)
    client.close()
    await expect.poll(() => db.read("select id from returned_mail where state = 'received'")).toEqual([])
  }
  const get = async (path: string): Promise<any> => {
    const { status, body } = await relay.call('GET', `/api/domains/sender.example/${path}`)
    expect(status).toBe(200)
    return body
  }
  const { data } = await get('reports')
  expect(data).toHaveLength(3)
  for (const query of ['kind=tls', 'since=2026-01-01', 'until=2030-01-01', `after=${data[0].id}`, `before=${data[2].id}`])
    await get(`reports?${query}`)
  for (const { id } of data) {
    await get(`reports/${id}`)
    for (const query of ['', '?limit=1&after=0', '?before=1']) await get(`reports/${id}/rows${query}`)
  }
  expect(await get('dmarc')).toMatchObject({ messages: 3, passed: 2 })
  expect(await get('tls')).toMatchObject({ sessions: 5643, failed: 304 })
  relay.clock.advance(day)
  await sweepDomainReports(db, relay.clock.now())
  expect((await get('reports')).data).toEqual([])
}
