import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseDmarcReport } from '../../../src/mail-back/domain-report/parse-dmarc-report.ts'
import { unpackReport } from '../../../src/mail-back/domain-report/unpack-report.ts'
import { composeDmarcReport } from '../../support/compose-domain-report.ts'
import { cases } from '../../support/cases.ts'

const fixture = async (name: string) =>
  parseDmarcReport((await unpackReport(readFileSync(join(import.meta.dirname, '../../fixtures/dmarc', name)))).text)

const own = {
  sourceIp: '192.0.2.25',
  disposition: 'none',
  dkimAligned: true,
  spfAligned: true,
  overrides: '',
  headerFrom: 'sender.example',
  envelopeFrom: null,
  dkim: 'pass sender.example s1',
  spf: 'pass send.sender.example',
  signatures: ['sender.example s1'],
}

describe('reports from receivers', () => {
  test('as the RFC says', async () => {
    expect(await fixture('plain.xml')).toEqual({
      kind: 'dmarc',
      reporter: 'bigmail.example',
      contact: 'noreply-dmarc-support@bigmail.example',
      reportId: '12345678901234567890',
      domain: 'sender.example',
      beginAt: Date.UTC(2026, 10, 20),
      endAt: Date.UTC(2026, 10, 21) - 1000,
      policy: 'none',
      messages: 43,
      aligned: 41,
      rows: [
        { ...own, messages: 41 },
        {
          ...own,
          sourceIp: '2001:db8::beef',
          messages: 2,
          dkimAligned: false,
          spfAligned: false,
          dkim: '',
          spf: 'softfail elsewhere.example',
          signatures: [],
        },
      ],
      rowsLeftOut: 0,
    })
  })

  test('without a version, with several results and reasons, and repeated rows', async () => {
    const report = await fixture('several-results.xml')
    expect(report).toMatchObject({ reporter: 'Cable & Co.', domain: 'sender.example', policy: 'quarantine', messages: 5, aligned: 2 })
    expect(report.rows).toEqual([
      {
        ...own,
        sourceIp: '198.51.100.7',
        messages: 3,
        dkimAligned: false,
        spfAligned: false,
        overrides: 'forwarded, local_policy',
        envelopeFrom: 'lists.example',
        dkim: 'fail sender.example s1, pass lists.example 2026',
        spf: 'pass lists.example, none mx.lists.example',
        signatures: ['sender.example s1', 'lists.example 2026'],
      },
      { ...own, messages: 2, spfAligned: false, spf: 'none' },
    ])
  })

  test('on one line, with useless namespaces', async () => {
    expect(await fixture('schema-instance.xml')).toMatchObject({
      reporter: 'Enterprise Inboxes',
      messages: 7,
      aligned: 7,
      rows: [{ envelopeFrom: 'send.sender.example' }],
    })
  })

  test('as RFC 9990 says, with unknown elements', async () => {
    const report = await fixture('rfc9990.xml')
    expect(report).toMatchObject({ policy: 'reject', messages: 128, aligned: 123 })
    expect(report.rows.map(({ disposition, headerFrom }) => [disposition, headerFrom])).toEqual([
      ['none', 'sender.example'],
      ['reject', 'billing.sender.example'],
    ])
  })

  test('as an old draft says, in another charset', async () => {
    expect(await fixture('old-draft.xml')).toMatchObject({
      reporter: 'Почта',
      endAt: Date.UTC(2026, 10, 21),
      policy: 'none',
      rows: [{ messages: 4, dkimAligned: true, spfAligned: false, dkim: 'pass sender.example', headerFrom: 'sender.example' }],
    })
  })
})

const good = readFileSync(join(import.meta.dirname, '../../fixtures/dmarc/schema-instance.xml'), 'utf8')

test.each<[string, string | RegExp, string, RegExp]>([
  ['another document', /feedback/g, 'html', /not a DMARC report: its root element is html/],
  ['no domain', '<domain>sender.example</domain><adkim>', '<adkim>', /no policy_published\/domain/],
  [
    'a domain that is none',
    '<domain>sender.example</domain><adkim>',
    '<domain>a b</domain><adkim>',
    /policy_published\/domain of the report is not a domain/,
  ],
  ['no organisation', /<org_name>.*<\/org_name>/, '', /no report_metadata\/org_name/],
  ['no id', /<report_id>.*<\/report_id>/, '<report_id> </report_id>', /no report_metadata\/report_id/],
  ['no date', /<begin>.*<\/begin>/, '', /date range/],
  ['an end before the beginning', '<end>1795219200', '<end>1795000000', /date range/],
  ['a year in one report', '<begin>1795132800', '<begin>1763596800', /date range/],
  ['no record', /<record>.*<\/record>/, '', /no record/],
  ['an address that is none', '192.0.2.25', 'mail.example', /"mail.example" is not an IP address/],
  ['a decimal number for an address', '192.0.2.25', '3221225985', /is not an IP address/],
  ['a count that is none', '<count>7', '<count>-7', /row\/count of the report is not a plausible whole number/],
  ['a count beyond all reason', '<count>7', '<count>9999999999', /row\/count .* plausible whole number/],
  [
    'many of them',
    /<record>.*<\/record>/,
    Array.from({ length: 11 }, (_, i) => `<record><row><source_ip>192.0.2.${i}</source_ip><count>1000000000</count></row></record>`).join(
      '',
    ),
    /more messages than anybody can have sent/,
  ],
  ['an end that is missing', '</feedback>', '', /not well-formed/],
])('refused with a reason: %s', (_, what, instead, fault) => {
  expect(() => parseDmarcReport(good.replace(what, instead))).toThrow(fault)
})

test('text for display has no control characters and is cut', () => {
  const odd = good.replace('Enterprise Inboxes', `a\u001b[31m\n\u202eb${'x'.repeat(5000)}`)
  const { reporter } = parseDmarcReport(odd)
  expect(reporter).toMatch(/^a \[31m bx+$/)
  expect(reporter).toHaveLength(200)
})

test('keeps the rows with the most messages, and counts all', () => {
  const rows = Array.from({ length: 3000 }, (_, i) => ({
    sourceIp: `10.0.${i >> 8}.${i & 255}`,
    messages: i + 1,
    dkimAligned: i % 2 === 0,
    spfAligned: false,
  }))
  const report = parseDmarcReport(composeDmarcReport({ rows }))
  expect(report.messages).toBe((3000 * 3001) / 2)
  expect(report.aligned).toBe(1500 * 1500)
  expect(report.rows).toHaveLength(1000)
  expect(report.rows[0]).toMatchObject({ messages: 3000, sourceIp: '10.0.11.183' })
  expect(report.rowsLeftOut).toBe(2000)
})

const row = fc.record({
  sourceIp: fc.ipV4(),
  messages: fc.nat({ max: 1_000_000 }),
  disposition: fc.constantFrom('none', 'quarantine', 'reject'),
  dkimAligned: fc.boolean(),
  spfAligned: fc.boolean(),
})

test('reads everything written into a report', () => {
  const text = fc
    .string({ minLength: 1, unit: 'grapheme' })
    .map((value) => `x${value.replace(/[\p{C}\s]+/gu, ' ')}x`.slice(0, 100).toWellFormed())
  const report = fc.record({
    reporter: text,
    reportId: text,
    rows: fc.uniqueArray(row, { minLength: 1, maxLength: 20, selector: ({ sourceIp }) => sourceIp }),
  })
  fc.assert(
    fc.property(report, (written) => {
      const read = parseDmarcReport(composeDmarcReport(written))
      expect(read.reporter).toBe(written.reporter)
      expect(read.reportId).toBe(written.reportId)
      const bySource = new Map(read.rows.map((found) => [found.sourceIp, found]))
      for (const wanted of written.rows) expect(bySource.get(wanted.sourceIp)).toMatchObject(wanted)
      expect(read.messages).toBe(written.rows.reduce((sum, { messages }) => sum + messages, 0))
    }),
  )
})

test('any content is parsed or refused with a ReportFault', () => {
  const pieces = good.split(/(?<=>)|(?=<)/)
  const mixed = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string()), { maxLength: 60 }).map((parts) => parts.join(''))
  const changed = fc
    .tuple(fc.nat({ max: good.length }), fc.nat({ max: 20 }), fc.string())
    .map(([at, length, text]) => good.slice(0, at) + text + good.slice(at + length))
  fc.assert(
    fc.property(fc.oneof(mixed, changed), (text) => {
      try {
        parseDmarcReport(text)
      } catch (error) {
        expect((error as Error).name).toBe('ReportFault')
      }
    }),
    { numRuns: cases(400) },
  )
})
