import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { startMailSystem } from '../support/mail-system.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testCertificate } from '../support/test-certificates.ts'

const host = '127.0.0.33'

test('Exim that demands a certificate of its clients gets our mail in plain text, at the first attempt', async () => {
  const port = await freePort()
  const { cert, key } = await testCertificate(['mx.exim.example'])
  const configuration = `
primary_hostname = mx.exim.example
local_interfaces = ${host}
daemon_smtp_ports = ${port}
tls_advertise_hosts = *
tls_certificate = /etc/exim4/tls.crt
tls_privatekey = /etc/exim4/tls.key
tls_verify_hosts = *
tls_verify_certificates = /etc/exim4/tls.crt
spool_directory = /var/spool/exim4
log_file_path = /var/log/exim4/%s
host_lookup =
keep_environment =
acl_smtp_rcpt = accept_all
acl_smtp_data = accept_all
begin acl
accept_all:
  accept
begin routers
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
begin rewrite
`
  const exim = await startMailSystem({
    listen: { host, port },
    nameServer: '127.0.0.54',
    unpackedFrom: 'exim4-daemon-light',
    users: ['Debian-exim'],
    files: { '/etc/exim4/exim4.conf': configuration, '/etc/exim4/tls.crt': cert, '/etc/exim4/tls.key': key },
    prepare: `
      mkdir -p /var/spool/exim4 /var/log/exim4 /var/mail
      chown Debian-exim:Debian-exim /var/spool/exim4 /var/log/exim4
      chown nobody:nogroup /var/mail`,
    command: ['/usr/sbin/exim4', '-bdf', '-q1s'],
    logFile: '/var/log/exim4/main',
  })
  onTestFinished(() => exim.stop())
  const relay = await startTestRelay({ delivery_port: String(port) }, { 'exim.example': { a: [host] } })
  onTestFinished(() => relay.stop())
  const id = await relay.send('ann@exim.example')
  await expect.poll(async () => (await relay.recipients(id))['ann@exim.example'], { timeout: 15_000 }).toMatchObject({ status: 'delivered', attempts: 1 })
  const [attempt] = (await relay.call('GET', `/api/emails/${id}/attempts`)).body.data
  expect(attempt).toMatchObject({ tls: null })
  const said = attempt.transcript.map(({ line }: { line: string }) => line)
  expect(said).toContainEqual(expect.stringMatching(/^\(in plain text: TLS failed at .*: the connection failed: tlsv13 alert certificate required\)$/))
})
