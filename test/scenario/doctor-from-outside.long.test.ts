import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { examineOther } from '../../src/clients/command/examine-server.ts'
import { loadConfig } from '../../src/platform/config/load-config.ts'
import { freePort } from '../../bench/free-port.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'
import { testCertificate } from '../support/test-certificates.ts'

/** `status check: what`, in the order in which they are shown. */
async function outside(dnsServer: string, ports: Record<'returnPath' | 'submission' | 'submissionTls' | 'web' | 'plainWeb', number>) {
  const config = loadConfig({ env: { STERNA_HOSTNAME: 'second.example', STERNA_DNS_SERVERS: dnsServer } })
  const clock = { now: () => Date.now() } as never
  const { stdout, exitCode } = await examineOther('Relay.Example', { config, clock, ports })
  const lines = stdout.split('\n').filter((line) => !line.startsWith(' ') && line !== '')
  return { lines: lines.map((line) => line.replace(/ +/, ' ')), text: stdout.replace(/\s+/g, ' '), exitCode }
}

test('a second machine sees which ports of a server answer, with which certificates, and that it relays for no stranger', async () => {
  const relay = await startTestRelay({ http_tls_listen: '127.0.0.1:0' }, { 'relay.example': { a: ['127.0.0.1'] } })
  onTestFinished(() => relay.stop())
  const { http, submission, returnPath } = relay.relay.addresses
  const ports = {
    returnPath: returnPath[0]?.port ?? 0,
    submission: submission[0]?.port ?? 0,
    submissionTls: submission.at(-1)?.port ?? 0,
    web: http.at(-1)?.port ?? 0,
    plainWeb: http[0]?.port ?? 0,
  }
  const { lines, exitCode } = await outside(relay.dns.server, ports)
  expect(exitCode).toBe(1)
  expect(lines).toEqual([
    'failed host_name: relay.example has the address 127.0.0.1, which is not public: others cannot reach it.',
    `ok reachable: Port ${ports.returnPath} of relay.example (127.0.0.1) answers with TLS.`,
    `ok open_relay: Port ${ports.returnPath} of relay.example (127.0.0.1) takes no mail for other domains from strangers.`,
    expect.stringMatching(/^warning reachable: The certificate at port \d+ of .* is self-signed: apps that verify it refuse to send\.$/),
    expect.stringMatching(/^warning reachable: The certificate at port \d+ of .* is self-signed: apps that verify it refuse to send\.$/),
    expect.stringMatching(/^failed reachable: The certificate at port \d+ of .* is self-signed: browsers and apps refuse it\.$/),
    `warning reachable: Port ${ports.plainWeb} of relay.example (127.0.0.1) answers as Sterna without TLS.`,
  ])
})

test('a port that answers over one family only is told apart, with the setting that may be the cause', async () => {
  const ipv4 = await freePort()
  const relay = await startTestRelay(
    { return_path_listen: `127.0.0.1:${ipv4}`, submission_listen: '[::]:0' },
    { 'relay.example': { a: ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'], aaaa: ['::1'] } },
  )
  onTestFinished(() => relay.stop())
  const { submission } = relay.relay.addresses
  const ports = { returnPath: ipv4, submission: submission[0]?.port ?? 0, submissionTls: 1, web: 1, plainWeb: 1 }
  const { lines, text } = await outside(relay.dns.server, ports)
  expect(lines).toContainEqual(
    expect.stringMatching(/^failed reachable: Port \d+ of relay\.example \(::1\) does not answer: .*ECONNREFUSED.*\. Over IPv4 it does\.$/),
  )
  expect(text).toContain('If return_path.listen there has an IPv4 address such as 0.0.0.0, write [::] instead.')
  expect(lines.filter((line) => line.includes(`Port ${ports.submission} `) && line.includes('does not answer'))).toEqual([])
  expect(lines.filter((line) => line.includes('(::1) does not answer') && line.includes('Over IPv4'))).toHaveLength(1)
})

test('a port that leads on to https is right, though it answers with its health', async () => {
  const certificate = await testCertificate(['relay.example'])
  const [cert, key] = [join(testDirectory(), 'cert'), join(testDirectory(), 'key')]
  writeFileSync(cert, certificate.cert)
  writeFileSync(key, certificate.key)
  const relay = await startTestRelay(
    { http_tls_listen: '127.0.0.1:0', base_url: 'https://relay.example', tls_cert: cert, tls_key: key },
    { 'relay.example': { a: ['127.0.0.1'] } },
  )
  onTestFinished(() => relay.stop())
  const plainWeb = relay.relay.addresses.http[0]?.port ?? 0
  const { lines } = await outside(relay.dns.server, { returnPath: 1, submission: 1, submissionTls: 1, web: 1, plainWeb })
  expect(lines.at(-1)).toBe(`ok reachable: Port ${plainWeb} of relay.example (127.0.0.1) redirects to https.`)
})

test('a server that takes everything, and ports where nobody answers, are told', async () => {
  const relay = await startTestRelay({}, { 'relay.example': { a: ['127.0.0.5'] } })
  onTestFinished(() => relay.stop())
  const open = await startFakeMx({ host: '127.0.0.5' })
  onTestFinished(() => open.close())
  const closed = await freePort()
  const { lines } = await outside(relay.dns.server, {
    returnPath: open.port,
    submission: closed,
    submissionTls: closed,
    web: closed,
    plainWeb: closed,
  })
  expect(lines.slice(1)).toEqual([
    expect.stringMatching(/^warning reachable: Port \d+ of relay\.example \(127\.0\.0\.5\) answers as another server: /),
    expect.stringMatching(/^failed open_relay: .* takes mail for any domain from strangers/),
    ...['warning', 'warning', 'warning', 'skipped'].map((status) =>
      expect.stringMatching(new RegExp(`^${status} reachable: Port ${closed} of .* does not answer: .*ECONNREFUSED`)),
    ),
  ])
  expect(open.messages).toEqual([])
})

test('a name that is in no DNS, and what is no name', async () => {
  const relay = await startTestRelay()
  onTestFinished(() => relay.stop())
  const none = { returnPath: 1, submission: 1, submissionTls: 1, web: 1, plainWeb: 1 }
  expect((await outside(relay.dns.server, none)).lines).toEqual(['failed host_name: relay.example has no address in the DNS.'])
  const config = loadConfig({ env: { STERNA_DNS_SERVERS: relay.dns.server } })
  const bin = resolve(import.meta.dirname, '../../bin/sterna.js')
  const env = { PATH: process.env['PATH'], STERNA_DNS_SERVERS: relay.dns.server, STERNA_DATA_DIR: join(testDirectory(), 'none') }
  const asProcess = promisify(execFile)(process.execPath, [bin, 'doctor', '--of', 'relay.example', '--json'], { env })
  const { code, stdout } = (await asProcess.catch((error: unknown) => error)) as { code: number; stdout: string }
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 1, object: 'doctor', status: 'failed' })
  await expect(examineOther('192.0.2.1', { config, clock: relay.clock })).rejects.toThrow('An IP address is not a domain')
})
