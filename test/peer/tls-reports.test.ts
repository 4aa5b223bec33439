import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { authorityFile } from '../support/authority-file.ts'
import { testMx } from '../support/delivery-fixture.ts'
import { answerWith, policyHost, policyText } from '../support/policy-host.ts'
import { runTlsReports } from '../support/run-tls-reports.ts'
import { settableClock } from '../support/settable-clock.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testCertificate } from '../support/test-certificates.ts'

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

// Debian's python3-dkim knows reports on TLS; the rest is Python's own.
test('Python reads a report that we sent, and dkimpy its signature', async () => {
  // Verifiers believe no signature of tomorrow.
  const yesterday = Math.floor(Date.now() / day) * day - day
  const clock = settableClock(yesterday - 6 * hour)
  const mx = await testMx({ host: '127.0.3.17' })
  const certificate = await testCertificate(['mta-sts.rcpt.example'])
  const policies = await policyHost(certificate, answerWith(policyText('testing', ['*.rcpt.example'])))
  const relay = await startTestRelay(
    { delivery_port: String(mx.port), delivery_smarthost_ca: authorityFile(certificate), tls_reports_sender: 'tls@sender.example' },
    {
      'rcpt.example': { mx: [[0, 'mx.rcpt.example']] },
      'mx.rcpt.example': { a: ['127.0.3.17'] },
      'mta-sts.rcpt.example': { a: ['127.0.0.1'] },
      '_mta-sts.rcpt.example': { txt: ['v=STSv1; id=1;'] },
      '_smtp._tls.rcpt.example': { txt: ['v=TLSRPTv1; rua=mailto:tls@rcpt.example'] },
    },
    { clock, policyPort: policies.port },
  )
  onTestFinished(() => relay.stop())
  await relay.send('ann@rcpt.example')
  await mx.waitForMessages(1)
  // A stop writes what was counted.
  await relay.restart()
  expect(await relay.relay.services.db.read('select sessions from tls_session')).toEqual([{ sessions: 1 }])
  clock.set(yesterday + 10 * minute)
  await runTlsReports(relay.relay)
  clock.advance(4 * hour)
  await runTlsReports(relay.relay)
  const [, mail] = await mx.waitForMessages(2)
  const { records } = (await relay.call('GET', '/api/domains/sender.example')).body
  const keys = Object.fromEntries(records.map(({ name, value }: { name: string; value: string }) => [name, value]))
  const script = join(import.meta.dirname, 'tls-reports/receive.py')
  const { stdout, stderr } = spawnSync('/usr/bin/python3', [script, JSON.stringify(keys)], { input: mail?.data ?? '', encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({
    signed: [true, true],
    domain: 'sender.example',
    type: 'multipart/report',
    report_type: 'tlsrpt',
    part: 'application/tlsrpt+gzip',
    file: expect.stringMatching(/^sender\.example!rcpt\.example!\d+!\d+!tlr_\w+\.json\.gz$/),
    defects: [],
    policies: [
      {
        policy: {
          'policy-type': 'sts',
          'policy-string': ['version: STSv1', 'mode: testing', 'mx: *.rcpt.example', 'max_age: 604800'],
          'policy-domain': 'rcpt.example',
          'mx-host': ['*.rcpt.example'],
        },
        summary: { 'total-successful-session-count': 0, 'total-failure-session-count': 1 },
        'failure-details': [expect.objectContaining({ 'result-type': 'starttls-not-supported', 'failed-session-count': 1 })],
      },
    ],
  })
})
