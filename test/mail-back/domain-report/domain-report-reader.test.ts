import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { startDomainReportReader } from '../../../src/mail-back/domain-report/domain-report-reader.ts'
import { composeDmarcReport, reportMail, zipOf } from '../../support/compose-domain-report.ts'

// However busy the machine is.
const reader = startDomainReportReader({ timeoutMs: 15_000 })
afterAll(() => reader.stop())

const fixture = (name: string): Buffer => readFileSync(join(import.meta.dirname, '../../fixtures', name))
const dmarc = fixture('dmarc/plain.xml')
const tls = fixture('tls/success.json')
const zip = zipOf({ 'bigmail.example!sender.example!1795132800!1795219199.xml': dmarc })

describe('reports in any form of attachment', () => {
  test.each<[string, string, Uint8Array, string]>([
    ['gzip', 'application/gzip; name="r.xml.gz"', gzipSync(dmarc), 'dmarc'],
    ['gzip by its old name', 'application/x-gzip', gzipSync(dmarc), 'dmarc'],
    ['zip', 'application/zip; name="r.zip"', zip, 'dmarc'],
    ['zip by the name of Windows', 'application/x-zip-compressed', zip, 'dmarc'],
    ['zip called gzip', 'application/gzip; name="r.gz"', zip, 'dmarc'],
    ['XML', 'text/xml; charset=utf-8', dmarc, 'dmarc'],
    ['XML of an application', 'application/xml', dmarc, 'dmarc'],
    ['XML called text', 'text/plain; name="r.xml"', dmarc, 'dmarc'],
    ['bytes', 'application/octet-stream; name="r.xml.gz"', gzipSync(dmarc), 'dmarc'],
    ['TLS in gzip', 'application/tlsrpt+gzip', gzipSync(tls), 'tls'],
    ['TLS', 'application/tlsrpt+json', tls, 'tls'],
    ['JSON', 'application/json', tls, 'tls'],
  ])('%s', async (_, type, content, kind) => {
    const { reports, faults } = await reader.read(reportMail([{ type, content }]))
    expect(faults).toEqual([])
    expect(reports).toMatchObject([{ kind, domain: 'sender.example' }])
  })

  test('a report as the body', async () => {
    const mail = `From: noreply@bigmail.example\r\nMIME-Version: 1.0\r\nContent-Type: application/zip\r\nContent-Transfer-Encoding: base64\r\n\r\n${zip.toString('base64')}\r\n`
    expect((await reader.read(Buffer.from(mail))).reports).toMatchObject([{ kind: 'dmarc', messages: 43 }])
  })

  test('several reports, one of them broken', async () => {
    const { reports, faults } = await reader.read(
      reportMail([
        { type: 'application/gzip', content: gzipSync(dmarc) },
        { type: 'application/gzip', content: gzipSync(dmarc).subarray(0, 40) },
        { type: 'application/tlsrpt+gzip', content: gzipSync(tls) },
      ]),
    )
    expect(reports.map(({ kind }) => kind)).toEqual(['dmarc', 'tls'])
    expect(faults).toEqual(['The gzip file is broken or truncated.'])
  })
})

test('mail without a report', async () => {
  expect(await reader.read(reportMail([]))).toEqual({ reports: [], faults: ['The message contains no report.'] })
  expect(await reader.read(Buffer.from('no mail'))).toEqual({ reports: [], faults: ['The message contains no report.'] })
})

test('an endless row of CRs does not keep the reader busy', async () => {
  const mail = Buffer.from(
    `Content-Type: application/zip\r\nContent${'\r'.repeat(1_000_000)}-Transfer-Encoding: base64\r\n\r\n${zip.toString('base64')}`,
  )
  expect((await reader.read(mail)).faults).toHaveLength(1)
})

test('many large reports in one message are limited in rows and attachments', async () => {
  const rows = Array.from({ length: 700 }, (_, i) => ({
    sourceIp: `10.0.${i >> 8}.${i & 255}`,
    messages: 1,
    dkimAligned: true,
    spfAligned: true,
  }))
  const parts = Array.from({ length: 12 }, (_, i) => ({
    type: 'application/gzip',
    content: gzipSync(composeDmarcReport({ reportId: `${i}`, rows })),
  }))
  const { reports, faults } = await reader.read(reportMail(parts))
  expect(reports.map((report) => report.rows.length)).toEqual([700, 300, 0, 0, 0, 0, 0, 0, 0, 0])
  expect(reports[1]).toMatchObject({ messages: 700, rowsLeftOut: 400 })
  expect(faults).toEqual(['The message has more than 10 reports.'])
})

test('all reports of a message together may unpack to the size of one', async () => {
  const large = (id: string): string =>
    composeDmarcReport({ reportId: id, rows: [{ sourceIp: '192.0.2.1', messages: 1, dkimAligned: true, spfAligned: true }] }).replace(
      '</feedback>',
      `<note>${Array.from({ length: 700_000 }, (_, i) => i).join(' ')}</note></feedback>`,
    )
  const { reports, faults } = await reader.read(
    reportMail(['a', 'b', 'c'].map((id) => ({ type: 'application/gzip', content: gzipSync(large(id)) }))),
  )
  expect([reports.length, faults.length]).toEqual([2, 1])
  expect(faults[0]).toMatch(/unpacks to more than \d+ bytes/)
})

test('gives up at the time limit', async () => {
  const impatient = startDomainReportReader({ timeoutMs: 20 })
  try {
    const elements = Array.from({ length: 300_000 }, (_, i) => `<b>${(i * 7919) % 1_000_003}</b>`).join('')
    const slow = reportMail([{ type: 'application/gzip', content: gzipSync(`<a>${elements}</a>`) }])
    await expect(impatient.read(slow)).rejects.toMatchObject({ code: 'invalid_message' })
  } finally {
    await impatient.stop()
  }
})
