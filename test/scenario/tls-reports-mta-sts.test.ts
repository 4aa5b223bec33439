import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { simpleParser } from 'mailparser'
import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { answerWith, policyHost, policyText } from '../support/policy-host.ts'
import { runTlsReports } from '../support/run-tls-reports.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { testCertificate } from '../support/test-certificates.ts'

const [mxHost, inboxHost] = ['127.0.3.21', '127.0.3.22']

test.each([
  ['enforce', 'mx.rcpt.example', true, null],
  ['enforce', 'mx.rcpt.example', false, 'certificate-not-trusted'],
  ['enforce', 'mx.elsewhere.example', true, 'validation-failure'],
  ['testing', 'mx.rcpt.example', true, null],
  ['testing', 'mx.rcpt.example', false, 'certificate-not-trusted'],
  ['testing', 'mx.elsewhere.example', true, 'validation-failure'],
] as const)(
  'a domain with an MTA-STS policy to %s for %s (trusted certificate: %s) hears of %s',
  async (mode, listed, isTrusted, failure) => {
    const valid = await testCertificate(['mta-sts.rcpt.example', 'mx.rcpt.example'])
    const policies = await policyHost(valid, answerWith(policyText(mode, [listed])))
    const mx = await startFakeMx({ host: mxHost, tls: isTrusted ? valid : await testCertificate(['mx.rcpt.example']) })
    const inbox = await startFakeMx({ host: inboxHost, port: mx.port })
    onTestFinished(async () => void (await Promise.all([mx.close(), inbox.close()])))
    const directory = temporaryDirectory()
    onTestFinished(() => directory.remove())
    const ca = join(directory.path, 'ca.pem')
    writeFileSync(ca, valid.cert)
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
    const { db } = relay.relay.services
    // Before the next attempt.
    await expect.poll(async () => (relay.clock.advance(10_000), db.read('select sessions from tls_session'))).toHaveLength(1)
    relay.clock.set(Date.UTC(2026, 10, 22, 0, 10))
    await runTlsReports(relay.relay)
    relay.clock.advance(4 * 3_600_000)
    await runTlsReports(relay.relay)
    const [mail] = await inbox.waitForMessages(1)
    const { attachments } = await simpleParser(mail?.data ?? '')
    const [policy] = JSON.parse(gunzipSync(attachments[0]?.content ?? '').toString()).policies
    expect(policy.policy).toEqual({
      'policy-type': 'sts',
      'policy-string': ['version: STSv1', `mode: ${mode}`, `mx: ${listed}`, 'max_age: 604800'],
      'policy-domain': 'rcpt.example',
      'mx-host': [listed],
    })
    const told = policy['failure-details']?.map((detail: Record<string, unknown>) => [
      detail['result-type'],
      detail['receiving-mx-hostname'],
    ])
    expect(told).toEqual(failure === null ? undefined : [[failure, 'mx.rcpt.example']])
    expect(policy.summary['total-successful-session-count'] > 0).toBe(failure === null)
  },
)
