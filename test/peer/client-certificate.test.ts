import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { startExim } from '../support/exim-system.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testCertificate } from '../support/test-certificates.ts'

const host = '127.0.0.33'

test('Exim that demands a certificate of its clients gets our mail in plain text, at the first attempt', async () => {
  const port = await freePort()
  const exim = await startExim({
    listen: { host, port },
    nameServer: '127.0.0.54',
    hostName: 'mx.exim.example',
    main: 'tls_verify_hosts = *\ntls_verify_certificates = /etc/exim4/tls.crt',
    sections: `begin routers
mailbox:
  driver = accept
  transport = mailbox
begin transports
mailbox:
  driver = appendfile
  file = /var/mail/all
  user = nobody
  group = nogroup
begin retry
begin rewrite`,
    certificate: await testCertificate(['mx.exim.example']),
  })
  onTestFinished(() => exim.stop())
  const relay = await startTestRelay({ delivery_port: String(port) }, { 'exim.example': { a: [host] } })
  onTestFinished(() => relay.stop())
  const id = await relay.send('ann@exim.example')
  await expect.poll(async () => (await relay.recipients(id))['ann@exim.example']).toMatchObject({ status: 'delivered', attempts: 1 })
  const [attempt] = (await relay.call('GET', `/api/emails/${id}/attempts`)).body.data
  expect(attempt).toMatchObject({ tls: null })
  const said = attempt.transcript.map(({ line }: { line: string }) => line)
  expect(said).toContainEqual(
    expect.stringMatching(/^\(in plain text: TLS failed at .*: the connection failed: tlsv13 alert certificate required\)$/),
  )
})
