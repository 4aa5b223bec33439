import { expect, test } from 'vitest'
import type { PublishedTlsPolicy } from '../../../src/mail-out/delivery/tls-session.ts'
import { parseTlsReport } from '../../../src/mail-back/domain-report/parse-tls-report.ts'
import { tlsReport, type CountedSessions } from '../../../src/notify/tls-report/tls-report.ts'

const sts: PublishedTlsPolicy = {
  type: 'sts',
  strings: ['version: STSv1', 'mode: testing', 'mx: *.mail.company-y.example', 'max_age: 86400'],
  domain: 'company-y.example',
  mxHosts: ['*.mail.company-y.example'],
}
const failed = (sessions: number, change: object): CountedSessions => ({
  policy: sts,
  failure: {
    type: 'certificate-expired',
    reason: 'CERT_HAS_EXPIRED',
    mxHost: 'mx1.mail.company-y.example',
    address: '203.0.113.56',
    sourceAddress: '2001:db8:abcd:0012::1',
    ...change,
  },
  sessions,
})
const frame = { id: 'tlr_1', day: 16_892, organization: 'Company-X', contact: 'sts-reporting@company-x.example' }

// As the example of RFC 8460 B.
const counted: CountedSessions[] = [
  { policy: sts, failure: null, sessions: 5326 },
  failed(100, {}),
  failed(200, {
    type: 'starttls-not-supported',
    reason: '',
    mxHost: 'mx2.mail.company-y.example',
    address: '203.0.113.57',
    sourceAddress: null,
  }),
  failed(3, { type: 'validation-failure', reason: 'X509_V_ERR_PROXY_PATH_LENGTH_EXCEEDED', address: '203.0.113.58' }),
]

test('a report is as RFC 8460 has it', () => {
  expect(tlsReport(frame, counted)).toEqual({
    'organization-name': 'Company-X',
    'date-range': { 'start-datetime': '2016-04-01T00:00:00Z', 'end-datetime': '2016-04-01T23:59:59Z' },
    'contact-info': 'sts-reporting@company-x.example',
    'report-id': 'tlr_1',
    policies: [
      {
        policy: {
          'policy-type': 'sts',
          'policy-string': sts.strings,
          'policy-domain': 'company-y.example',
          'mx-host': ['*.mail.company-y.example'],
        },
        summary: { 'total-successful-session-count': 5326, 'total-failure-session-count': 303 },
        'failure-details': [
          {
            'result-type': 'starttls-not-supported',
            'receiving-mx-hostname': 'mx2.mail.company-y.example',
            'receiving-ip': '203.0.113.57',
            'failed-session-count': 200,
          },
          {
            'result-type': 'certificate-expired',
            'sending-mta-ip': '2001:db8:abcd:0012::1',
            'receiving-mx-hostname': 'mx1.mail.company-y.example',
            'receiving-ip': '203.0.113.56',
            'failed-session-count': 100,
            'failure-reason-code': 'CERT_HAS_EXPIRED',
          },
          {
            'result-type': 'validation-failure',
            'sending-mta-ip': '2001:db8:abcd:0012::1',
            'receiving-mx-hostname': 'mx1.mail.company-y.example',
            'receiving-ip': '203.0.113.58',
            'failed-session-count': 3,
            'failure-reason-code': 'X509_V_ERR_PROXY_PATH_LENGTH_EXCEEDED',
          },
        ],
      },
    ],
  })
})

test('what reads reports of others reads ours, each policy by itself', () => {
  const tlsa: PublishedTlsPolicy = { type: 'tlsa', strings: ['3 1 1 00aa'], domain: 'mx1.mail.company-y.example', mxHosts: [] }
  const [ofDomain, ofHost] = parseTlsReport(JSON.stringify(tlsReport(frame, [...counted, { policy: tlsa, failure: null, sessions: 7 }])))
  expect(ofDomain).toMatchObject({ domain: 'company-y.example', sessions: 5629, failures: 303, reporter: 'Company-X', reportId: 'tlr_1' })
  expect(ofHost).toMatchObject({ domain: 'mx1.mail.company-y.example', sessions: 7, failures: 0, rows: [{ policyType: 'tlsa' }] })
})

test('of very many failures the largest are told, and all are counted', () => {
  const many = Array.from({ length: 1_500 }, (_, i) => failed(i + 1, { address: `192.0.2.${i}` }))
  const [policy] = tlsReport(frame, many).policies
  expect(policy?.summary['total-failure-session-count']).toBe((1_500 * 1_501) / 2)
  expect(policy?.['failure-details']?.map((detail) => detail['failed-session-count']).at(-1)).toBe(501)
})
