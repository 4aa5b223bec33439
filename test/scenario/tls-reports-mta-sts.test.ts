import { gunzipSync } from 'node:zlib'
import { simpleParser } from 'mailparser'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { parseTlsReport } from '../../src/mail-back/domain-report/parse-tls-report.ts'
import { authorityFile } from '../support/authority-file.ts'
import { testMx } from '../support/delivery-fixture.ts'
import { answerWith, policyHost, policyText } from '../support/policy-host.ts'
import { runTlsReports } from '../support/run-tls-reports.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testCertificate, type TestCertificate } from '../support/test-certificates.ts'

const [mxHost, inboxHost] = ['127.0.3.23', '127.0.3.24']

let made: Record<'valid' | 'expired' | 'untrusted', TestCertificate>
beforeAll(async () => {
  const [valid, expired, untrusted] = await Promise.all([
    testCertificate(['mta-sts.rcpt.example', 'mx.rcpt.example']),
    testCertificate(['mx.rcpt.example'], { expired: true }),
    testCertificate(['mta-sts.rcpt.example', 'mx.rcpt.example']),
  ])
  made = { valid, expired, untrusted }
})

const [own, other] = ['mx.rcpt.example', 'mx.elsewhere.example']
type Certificate = keyof typeof made

/** `mode` and `mx`: of the policy that is served; null: none can be fetched. */
type Row = [
  mode: string | null,
  mx: string,
  of: Certificate,
  failure: string | null,
  served?: { text: string; status?: number; of?: Certificate },
]

test.each<Row>([
  ['enforce', own, 'valid', null],
  ['enforce', own, 'expired', 'certificate-expired'],
  ['enforce', own, 'untrusted', 'certificate-not-trusted'],
  ['enforce', other, 'valid', 'validation-failure'],
  ['testing', own, 'valid', null],
  ['testing', own, 'expired', 'certificate-expired'],
  ['testing', other, 'valid', 'validation-failure'],
  [null, own, 'valid', 'sts-policy-fetch-error', { text: '', status: 404 }],
  [null, own, 'valid', 'sts-policy-invalid', { text: 'version: STSv2' }],
  [null, own, 'valid', 'sts-webpki-invalid', { text: policyText('enforce', [own]), of: 'untrusted' }],
])(
  'a domain with an MTA-STS policy (%s for %s), and a host with a certificate that is %s, hears of %s',
  async (mode, listed, of, failure, served = { text: policyText(mode ?? '', [listed]) }) => {
    const policies = await policyHost(made[served.of ?? 'valid'], answerWith(served.text, served.status))
    const mx = await testMx({ host: mxHost, tls: made[of] })
    const inbox = await testMx({ host: inboxHost, port: mx.port })
    const ca = authorityFile(made.valid, made.expired)
    const relay = await startTestRelay(
      { delivery_port: String(mx.port), delivery_smarthost_ca: ca, tls_reports_sender: 'tls@sender.example' },
      {
        'rcpt.example': { mx: [[0, 'mx.rcpt.example']] },
        'mx.rcpt.example': { a: [mxHost] },
        'mta-sts.rcpt.example': { a: ['127.0.0.1'] },
        '_mta-sts.rcpt.example': { txt: ['v=STSv1; id=1;'] },
        '_smtp._tls.rcpt.example': { txt: ['v=TLSRPTv1; rua=mailto:tls@reports.example'] },
        'reports.example': { mx: [[0, 'mx.reports.example']] },
        'mx.reports.example': { a: [inboxHost] },
      },
      { policyPort: policies.port },
    )
    onTestFinished(() => relay.stop())
    const id = await relay.send('ann@rcpt.example')
    const isHeldBack = mode === 'enforce' && failure !== null
    await expect.poll(async () => (await relay.recipients(id))['ann@rcpt.example']?.status).toBe(isHeldBack ? 'deferred' : 'delivered')
    // A stop writes what was counted.
    await relay.restart()
    expect(await relay.relay.services.db.read('select sessions from tls_session')).toHaveLength(1)
    relay.clock.set(Date.UTC(2026, 10, 22, 0, 10))
    await runTlsReports(relay.relay)
    relay.clock.advance(4 * 3_600_000)
    await runTlsReports(relay.relay)
    const [mail] = await inbox.waitForMessages(1)
    const { attachments } = await simpleParser(mail?.data ?? '')
    const report = gunzipSync(attachments[0]?.content ?? '').toString()
    const [policy] = JSON.parse(report).policies
    expect(policy.policy).toEqual({
      'policy-type': 'sts',
      'policy-domain': 'rcpt.example',
      ...(mode && { 'policy-string': ['version: STSv1', `mode: ${mode}`, `mx: ${listed}`, 'max_age: 604800'], 'mx-host': [listed] }),
    })
    const told = policy['failure-details']?.map((detail: Record<string, unknown>) => [
      detail['result-type'],
      detail['receiving-mx-hostname'],
    ])
    expect(told).toEqual(failure === null ? undefined : [[failure, 'mx.rcpt.example']])
    expect(policy.summary['total-successful-session-count'] > 0).toBe(failure === null)
    expect(parseTlsReport(report)).toMatchObject([
      { domain: 'rcpt.example', rows: [{ policyType: 'sts', resultType: failure ?? 'success' }] },
    ])
  },
)
