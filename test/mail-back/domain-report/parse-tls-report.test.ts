import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseTlsReport } from '../../../src/mail-back/domain-report/parse-tls-report.ts'
import { cases } from '../../support/cases.ts'

const fixture = (name: string): string => readFileSync(join(import.meta.dirname, '../../fixtures/tls', name), 'utf8')

test('a day without failures', () => {
  expect(parseTlsReport(fixture('success.json'))).toEqual([
    {
      kind: 'tls',
      reporter: 'Bigmail Inc.',
      contact: 'smtp-tls-reporting@bigmail.example',
      reportId: '2026-11-20T00:00:00Z_sender.example',
      domain: 'sender.example',
      beginAt: Date.UTC(2026, 10, 20),
      endAt: Date.UTC(2026, 10, 21) - 1000,
      sessions: 17,
      failures: 0,
      rows: [
        { policyType: 'sts', resultType: 'success', sessions: 17, sendingMta: null, receivingMx: null, receivingIp: null, reason: null },
      ],
      rowsLeftOut: 0,
    },
  ])
})

test('failures with and without details, of several policies and domains', () => {
  const [first, second, ...more] = parseTlsReport(fixture('failures.json'))
  expect(more).toEqual([])
  expect(first).toMatchObject({ domain: 'sender.example', sessions: 5326 + 303 + 10, failures: 303 })
  expect(
    first?.rows.map(({ policyType, resultType, sessions, receivingMx, reason }) => [policyType, resultType, sessions, receivingMx, reason]),
  ).toEqual([
    ['sts', 'success', 5326, null, null],
    ['sts', 'starttls-not-supported', 200, 'mx2.mail.sender.example', null],
    ['sts', 'certificate-expired', 100, 'mx1.mail.sender.example', null],
    ['tlsa', 'success', 10, null, null],
    ['sts', 'validation-failure', 2, 'mx-backup.mail.sender.example', 'X509_V_ERR_PROXY_PATH_LENGTH_EXCEEDED'],
    // The summary has one more than the details.
    ['sts', 'unspecified', 1, null, null],
  ])
  expect(second).toMatchObject({
    domain: 'send.sender.example',
    sessions: 4,
    failures: 1,
    rows: [{ policyType: 'no-policy-found' }, { resultType: 'unspecified' }],
  })
})

const good = JSON.parse(fixture('success.json')) as Record<string, unknown>

test.each<[string, string, RegExp]>([
  ['no JSON', '{"organization-name":', /not valid JSON/],
  ['a list', '[]', /report is missing or not an object/],
  ['nested', `{"a":${'['.repeat(50)}${']'.repeat(50)}}`, /nested more than 16 levels/],
  ['endless', `{"a":[${'0,'.repeat(500_000)}0]}`, /more than 400000 values/],
  ['no organisation', JSON.stringify({ ...good, 'organization-name': undefined }), /no organization-name/],
  ['no id', JSON.stringify({ ...good, 'report-id': {} }), /no report-id/],
  ['no dates', JSON.stringify({ ...good, 'date-range': undefined }), /date-range is missing/],
  [
    'dates that are none',
    JSON.stringify({ ...good, 'date-range': { 'start-datetime': 'yesterday', 'end-datetime': 'today' } }),
    /date range/,
  ],
  ['no policies', JSON.stringify({ ...good, policies: [] }), /no policies/],
  ['policies that are none', JSON.stringify({ ...good, policies: 'all' }), /policies is not a list/],
  [
    'no domain',
    JSON.stringify({
      ...good,
      policies: [{ policy: {}, summary: { 'total-successful-session-count': 1, 'total-failure-session-count': 0 } }],
    }),
    /no policy-domain/,
  ],
  [
    'half a session',
    JSON.stringify({
      ...good,
      policies: [
        { policy: { 'policy-domain': 'a.example' }, summary: { 'total-successful-session-count': 0.5, 'total-failure-session-count': 0 } },
      ],
    }),
    /total-successful-session-count/,
  ],
])('refused with a reason: %s', (_, text, fault) => {
  expect(() => parseTlsReport(text)).toThrow(fault)
})

test('any JSON is parsed or refused with a ReportFault', () => {
  const member = fc.oneof(fc.jsonValue(), fc.constantFrom(...Object.values(good)))
  const report = fc.record(Object.fromEntries(Object.keys(good).map((name) => [name, member])), { requiredKeys: [] })
  fc.assert(
    fc.property(report, (value) => {
      try {
        parseTlsReport(JSON.stringify(value))
      } catch (error) {
        expect((error as Error).name).toBe('ReportFault')
      }
    }),
    { numRuns: cases(300) },
  )
})

test('keeps a limited number of policies and failures, those with the most sessions first', () => {
  const policy = (domain: string, failures: object[]) => ({
    policy: { 'policy-type': 'sts', 'policy-domain': domain },
    summary: { 'total-successful-session-count': 1, 'total-failure-session-count': 0 },
    'failure-details': failures,
  })
  const failures = Array.from({ length: 1500 }, (_, i) => ({
    'result-type': 'validation-failure',
    'failed-session-count': i + 2,
    'receiving-mx-hostname': `mx${i}.a.example`,
  }))
  const [report] = parseTlsReport(JSON.stringify({ ...good, policies: [policy('a.example', failures)] }))
  expect(report?.rows).toHaveLength(1000)
  expect(report?.rows[0]).toMatchObject({ sessions: 1501, receivingMx: 'mx1499.a.example' })
  expect(report?.rowsLeftOut).toBe(501)
  const many = Array.from({ length: 150 }, (_, i) => policy(`d${i}.example`, []))
  expect(parseTlsReport(JSON.stringify({ ...good, policies: many }))).toHaveLength(100)
})
