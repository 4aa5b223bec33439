import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DomainReport } from '../../src/mail-back/domain-report/domain-report.ts'
import { keepDomainReports } from '../../src/mail-back/domain-report/keep-domain-reports.ts'
import { composeDmarcReport, reportMail, zipOf } from '../support/compose-domain-report.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const day = 86_400_000

let relay: TestRelay

beforeAll(async () => {
  relay = await startTestRelay(
    { return_path_messages_per_minute: '0', return_path_max_connections_per_address: '100' },
    { '_dmarc.sender.example': { txt: ['v=DMARC1; p=none; adkim=r'] } },
  )
})

afterAll(() => relay.stop())

async function deliver(mail: Buffer, to = 'dmarc-reports@send.sender.example'): Promise<void> {
  const client = await SmtpClient.connect(relay.returnPathPort)
  await client.command('EHLO mx.receiver.example')
  const { code } = await client.send(mail, { from: 'noreply@receiver.example', to: [to] })
  client.close()
  expect(code).toBe(250)
}

/** What became of all mail that has come in, the newest last. */
async function results(): Promise<unknown[]> {
  const { db } = relay.relay.services
  await expect.poll(() => db.read("select id from returned_mail where state = 'received'")).toEqual([])
  return (await db.read('select result from returned_mail order by id')).map(({ result }) => result)
}

const midnight = (daysAgo: number): number => Math.floor(relay.clock.now() / day) * day - daysAgo * day
const gzipped = (report: string): Buffer => reportMail([{ type: 'application/gzip', content: gzipSync(report) }])
const get = async (path: string): Promise<any> => (await relay.call('GET', `/api/domains/sender.example/${path}`)).body

test('nothing is known of a domain that nobody has reported about', async () => {
  expect((await get('reports')).data).toEqual([])
  const summary = await get('dmarc')
  expect(summary).toMatchObject({
    reports: 0,
    messages: 0,
    pass_rate: 0,
    policy: null,
    sources: [],
    advice: { step: 'publish', policy: 'none' },
  })
  expect(summary.advice.record).toEqual({
    name: '_dmarc.sender.example',
    type: 'TXT',
    value: 'v=DMARC1; p=none; rua=mailto:dmarc-reports@send.sender.example',
  })
  expect((await get('tls')).record).toEqual({
    name: '_smtp._tls.sender.example',
    type: 'TXT',
    value: 'v=TLSRPTv1; rua=mailto:tls-reports@send.sender.example',
  })
})

test('reports of eight days make the domain ready for a stricter policy', async () => {
  await relay.call('POST', '/api/domains/sender.example/verify')
  const dmarcRecord = async () =>
    (await relay.call('GET', '/api/domains/sender.example')).body.records.find(({ record }: { record: string }) => record === 'DMARC')
  await expect
    .poll(dmarcRecord)
    .toMatchObject({ status: 'verified', value: 'v=DMARC1; p=none; rua=mailto:dmarc-reports@send.sender.example' })
  const [key] = relay.relay.services.sendingDomains.find('sender.example')[0]!.keys
  const selector = key!.selector
  const rows = [
    { sourceIp: '192.0.2.25', messages: 20, dkimAligned: true, spfAligned: true, selector },
    { sourceIp: '198.51.100.7', messages: 1, dkimAligned: false, spfAligned: false, selector: 'else' },
  ]
  for (let daysAgo = 8; daysAgo > 0; daysAgo--) {
    const report = composeDmarcReport({
      reportId: `day-${daysAgo}`,
      beginAt: midnight(daysAgo),
      rows: daysAgo === 1 ? rows : rows.slice(0, 1),
    })
    // Of the two addresses that receivers may be told of, and however it is packed.
    if (daysAgo % 2 === 0) await deliver(gzipped(report))
    else await deliver(reportMail([{ type: 'application/zip', content: zipOf({ 'a.xml': report }) }]), 'dmarc-reports@relay.example')
    if (daysAgo === 3) {
      await results()
      expect((await get('dmarc')).advice).toMatchObject({
        step: 'wait',
        policy: null,
        reasons: ['The reports cover 6 of the required 7 days.'],
      })
    }
  }
  expect(await results()).toEqual(Array.from({ length: 8 }, () => 'stored'))
  const { data } = await get('reports?limit=2')
  expect(data).toMatchObject([
    {
      kind: 'dmarc',
      reporter: 'receiver.example',
      report_id: 'day-1',
      total: 21,
      failed: 1,
      reverse_path: 'noreply@receiver.example',
      remote_address: '127.0.0.1',
    },
    { report_id: 'day-2', total: 20, failed: 0 },
  ])
  const summary = await get('dmarc')
  expect(summary).toMatchObject({
    reports: 8,
    messages: 161,
    passed: 160,
    policy: 'none',
    record: 'v=DMARC1; p=none; adkim=r',
    reporters: [{ name: 'receiver.example', reports: 8, failed: 1 }],
  })
  expect(summary.sources).toMatchObject([
    { ip_address: '198.51.100.7', origin: 'other', messages: 1, failed: 1, dkim: 'fail sender.example else' },
    { ip_address: '192.0.2.25', origin: 'ours', messages: 160, failed: 0, dkim_aligned: 160, spf_aligned: 160 },
  ])
  expect(summary.advice).toMatchObject({ step: 'tighten', policy: 'quarantine', record: { value: 'v=DMARC1; p=quarantine; adkim=r' } })
  const lastDay = await get(`dmarc?since=${new Date(midnight(0) - 1000).toISOString()}`)
  expect(lastDay).toMatchObject({ reports: 1, messages: 21, advice: { step: 'wait' } })
})

test('a report that arrives again and again, by many connections at once, counts once', async () => {
  const before = await get('dmarc')
  const mail = gzipped(
    composeDmarcReport({
      reportId: 'again',
      beginAt: midnight(1),
      rows: [{ sourceIp: '192.0.2.25', messages: 7, dkimAligned: true, spfAligned: true }],
    }),
  )
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      for (let i = 0; i < 5; i++) await deliver(mail)
    }),
  )
  const told = (await results()).slice(-50)
  expect([told.filter((result) => result === 'stored').length, told.filter((result) => result === 'duplicate').length]).toEqual([1, 49])
  const after = await get('dmarc')
  expect([after.reports - before.reports, after.messages - before.messages]).toEqual([1, 7])
})

test('TLS reports, sent to whichever address', async () => {
  const report = JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures/tls/failures.json'), 'utf8'))
  const edge = (at: number): string => new Date(at).toISOString().replace('.000', '')
  report['date-range'] = { 'start-datetime': edge(midnight(1)), 'end-datetime': edge(midnight(0) - 1000) }
  const mail = reportMail([{ type: 'application/tlsrpt+gzip', content: gzipSync(JSON.stringify(report)) }])
  await deliver(mail, 'tls-reports@send.sender.example')
  await deliver(mail, 'dmarc-reports@relay.example')
  expect((await results()).slice(-2).toSorted()).toEqual(['duplicate', 'stored'])
  const summary = await get('tls')
  expect(summary).toMatchObject({ reports: 2, sessions: 5639 + 4, failed: 304, reporters: [{ name: 'Company-X', reports: 2 }] })
  expect(summary.results.slice(0, 3)).toEqual([
    { policy_type: 'sts', result_type: 'starttls-not-supported', receiving_mx: 'mx2.mail.sender.example', sessions: 200 },
    { policy_type: 'sts', result_type: 'certificate-expired', receiving_mx: 'mx1.mail.sender.example', sessions: 100 },
    { policy_type: 'sts', result_type: 'validation-failure', receiving_mx: 'mx-backup.mail.sender.example', sessions: 2 },
  ])
  const { data } = await get('reports?kind=tls')
  expect(data.map(({ domain }: { domain: string }) => domain).toSorted()).toEqual(['send.sender.example', 'sender.example'])
})

test('of two mails with one report that are decided on at once, one is refused and then finds the other', async () => {
  const { db, sendingDomains } = relay.relay.services
  const report: DomainReport = {
    kind: 'dmarc',
    reporter: 'receiver.example',
    contact: null,
    reportId: 'race',
    domain: 'sender.example',
    beginAt: midnight(1),
    endAt: midnight(0) - 1000,
    policy: 'none',
    messages: 0,
    aligned: 0,
    rows: [],
    rowsLeftOut: 0,
  }
  const keep = () =>
    keepDomainReports([report], { receivedAt: relay.clock.now(), reversePath: null, remoteAddress: '192.0.2.1' }, { db, sendingDomains })
  const both = await Promise.all([keep(), keep()])
  expect(both.map(([kept]) => kept?.fate)).toEqual(['stored', 'stored'])
  const written = await Promise.allSettled(both.map(([kept]) => db.write(kept?.statements ?? [])))
  expect(written).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { name: 'ConflictError' } }])
  expect((await keep())[0]?.fate).toBe('known')
})

test('a report that one mail holds twice counts once', async () => {
  const before = await get('dmarc')
  const content = gzipSync(
    composeDmarcReport({
      reportId: 'twice',
      beginAt: midnight(1),
      rows: [{ sourceIp: '192.0.2.25', messages: 3, dkimAligned: true, spfAligned: true }],
    }),
  )
  const part = { type: 'application/gzip', content }
  await deliver(reportMail([part, part]))
  expect((await results()).at(-1)).toBe('stored')
  const after = await get('dmarc')
  expect([after.reports - before.reports, after.messages - before.messages]).toEqual([1, 3])
})

test('one report is read by itself, with its rows by page, and under no domain but its own', async () => {
  const overrides = (place: number): string[] => (place === 2 ? ['forwarded', 'mailing_list'] : [])
  const row = (place: number) => ({
    sourceIp: `198.51.100.${place}`,
    messages: 5 - place,
    dkimAligned: place > 1,
    spfAligned: false,
    overrides: overrides(place),
  })
  await deliver(gzipped(composeDmarcReport({ reportId: 'rows', beginAt: midnight(1), rows: [0, 1, 2, 3, 4].map(row) })))
  await results()
  const { data: reports } = await get('reports?limit=100')
  const report = reports.find(({ report_id }: { report_id: string }) => report_id === 'rows')
  expect(await get(`reports/${report.id}`)).toEqual(report)

  const page = async (query: string): Promise<[places: number[], hasMore: boolean]> => {
    const { data, has_more } = await get(`reports/${report.id}/rows?${query}`)
    return [data.map(({ place }: { place: number }) => place), has_more]
  }
  expect(await page('')).toEqual([[0, 1, 2, 3, 4], false])
  expect(await page('limit=2')).toEqual([[0, 1], true])
  expect(await page('limit=2&after=1')).toEqual([[2, 3], true])
  expect(await page('limit=2&after=3')).toEqual([[4], false])
  expect(await page('limit=2&before=3')).toEqual([[1, 2], true])
  expect(await page('before=2')).toEqual([[0, 1], false])
  const { data: rows } = await get(`reports/${report.id}/rows`)
  expect(rows.slice(1, 3)).toMatchObject([
    {
      object: 'dmarc_row',
      ip_address: '198.51.100.1',
      messages: 4,
      dkim_aligned: false,
      spf_aligned: false,
      disposition: 'none',
      overrides: [],
      signed_here: false,
    },
    {
      object: 'dmarc_row',
      ip_address: '198.51.100.2',
      messages: 3,
      dkim_aligned: true,
      spf_aligned: false,
      overrides: ['forwarded', 'mailing_list'],
    },
  ])
  const tls = reports.find(({ kind }: { kind: string }) => kind === 'tls')
  expect((await get(`reports/${tls.id}/rows?limit=1`)).data[0]).toMatchObject({ object: 'tls_row', place: 0, sessions: expect.any(Number) })

  const other = await relay.call('POST', '/api/domains', { name: 'other.example' })
  await relay.relay.services.sendingDomains.verifyManually(other.body.id)
  for (const path of [
    `other.example/reports/${report.id}`,
    `other.example/reports/${report.id}/rows`,
    `sender.example/reports/drp_${'0'.repeat(26)}/rows`,
  ]) {
    expect(await relay.call('GET', `/api/domains/${path}`)).toMatchObject({ status: 404, body: { name: 'not_found' } })
  }
  expect((await relay.call('GET', `/api/domains/sender.example/reports/${report.id}/rows?after=1&before=3`)).status).toBe(422)
})

/** What an operator is told to be wrong with the mail that came in last. */
async function lastFault(): Promise<unknown> {
  const { accounts, apiKeys } = relay.relay.services
  const { token } = await apiKeys.create({ accountId: accounts.getAccount('test').id, name: 'operator', permission: 'operator' })
  const ask = async (path: string) =>
    (await relay.call('GET', `/api/feedback${path}`, undefined, { authorization: `Bearer ${token}` })).body
  return (await ask(`/${(await ask('?limit=1')).data[0].id}`)).fault
}

describe('what is no report of ours changes nothing, and an operator sees why', () => {
  test.each<[string, Buffer, string, string]>([
    [
      'about a domain that nobody has here',
      gzipped(
        composeDmarcReport({
          domain: 'stranger.example',
          rows: [{ sourceIp: '192.0.2.1', messages: 1, dkimAligned: true, spfAligned: true }],
        }),
      ),
      'unknown_domain',
      'stranger.example is not a verified domain of this server.',
    ],
    ['mail without a report', reportMail([]), 'not_understood', 'The message contains no report.'],
    [
      'a bomb',
      reportMail([{ type: 'application/gzip', content: gzipSync(Buffer.alloc(100_000_000, '<')) }]),
      'not_understood',
      'The gzip file unpacks to more than 10485760 bytes.',
    ],
    [
      'entities of entities',
      reportMail([{ type: 'text/xml', content: Buffer.from('<!DOCTYPE a [<!ENTITY b "c">]><feedback>&b;</feedback>') }]),
      'not_understood',
      'The XML has a document type, which no report needs.',
    ],
  ])('%s', async (_, mail, result, fault) => {
    const before = await get('dmarc')
    await deliver(mail)
    expect((await results()).at(-1)).toBe(result)
    expect(await get('dmarc')).toEqual(before)
    expect(await lastFault()).toBe(fault)
  })
})

test('a flood of reports about a domain fills neither the disk nor the day', async () => {
  const { db } = relay.relay.services
  const rows = Array.from({ length: 900 }, (_, i) => ({
    sourceIp: `10.1.${i >> 8}.${i & 255}`,
    messages: 1,
    dkimAligned: false,
    spfAligned: false,
  }))
  for (let i = 0; i < 8; i++) await deliver(gzipped(composeDmarcReport({ reporter: `forger-${i}.example`, beginAt: midnight(1), rows })))
  expect((await results()).slice(-8)).toContain('limit_reached')
  const [kept] = await db.read<{ count: number }>('select count(*) as count from dmarc_row')
  // Five thousand, and those of the last that there was room for.
  expect(kept?.count).toBeLessThan(6_000)
  // The next day there is room again.
  relay.clock.advance(day + 1000)
  await deliver(gzipped(composeDmarcReport({ reportId: 'next day', beginAt: midnight(1), rows: rows.slice(0, 1) })))
  expect((await results()).at(-1)).toBe('stored')
})

test('accounts see the reports about their own verified domains, from the time when they added them', async () => {
  const { accounts, apiKeys, sendingDomains } = relay.relay.services
  const other = await accounts.create('other', 'enterprise')
  const { token } = await apiKeys.create({ accountId: other.id, name: 'other', permission: 'read_access' })
  const authorization = `Bearer ${token}`
  const theirs = (path: string) => relay.call('GET', `/api/domains/sender.example/${path}`, undefined, { authorization })
  for (const path of ['reports', 'dmarc', 'tls']) expect((await theirs(path)).status).toBe(404)
  relay.clock.advance(1000)
  const domain = await sendingDomains.add(other.id, 'sender.example')
  expect((await theirs('dmarc')).body).toMatchObject({ reports: 0 })
  await sendingDomains.verifyManually(domain.id)
  expect((await theirs('reports')).body.data).toEqual([])
  relay.clock.advance(1000)
  await deliver(
    gzipped(
      composeDmarcReport({
        reportId: 'shared',
        beginAt: midnight(1),
        rows: [{ sourceIp: '192.0.2.25', messages: 3, dkimAligned: true, spfAligned: false }],
      }),
    ),
  )
  await results()
  expect((await theirs('dmarc')).body).toMatchObject({ reports: 1, messages: 3 })
  expect((await get('reports?limit=1')).data).toMatchObject([{ report_id: 'shared' }])
})
