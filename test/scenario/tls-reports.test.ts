import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { simpleParser } from 'mailparser'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { parseTlsReport } from '../../src/mail-back/domain-report/parse-tls-report.ts'
import { WebhookPoster } from '../../src/notify/webhook/post-webhook.ts'
import { dnsResolver } from '../../src/platform/dns/dns-resolver.ts'
import { testMx } from '../support/delivery-fixture.ts'
import type { FakeZone } from '../support/fake-dns.ts'
import { runTlsReports } from '../support/run-tls-reports.ts'
import { signatureVerdicts } from '../support/signature-verdicts.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testCertificate } from '../support/test-certificates.ts'
import { passTime, startTwoNodes, type TestNode } from '../support/two-nodes.ts'

const hour = 3_600_000
const settings = { tls_reports_sender: 'tls@sender.example', tls_reports_organization: 'Shop' }

const asks = (rua: string) => ({ txt: [`v=TLSRPTv1; rua=${rua}`] })
const at = (name: string, host: string): FakeZone => ({ [name]: { mx: [[0, `mx.${name}`]] }, [`mx.${name}`]: { a: [host] } })

/** What posts reports to loopback too. */
function localPoster() {
  const resolver = dnsResolver({ servers: [] })
  const poster = new WebhookPoster({ resolver }, { allowPrivateAddresses: true, timeoutMs: 30_000, trustsAnyCertificate: true })
  onTestFinished(async () => {
    await poster.close()
    resolver.close()
  })
  return { reportPoster: poster }
}

/** Takes reports over HTTPS, with a certificate that nobody trusts. */
async function startCollector() {
  const posts: { type: string | undefined; body: Buffer }[] = []
  const collector = { posts, status: 201, uri: '' }
  const server = createServer(await testCertificate(['collector.example']), (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      posts.push({ type: request.headers['content-type'], body: Buffer.concat(chunks) })
      response.writeHead(collector.status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  collector.uri = `https://127.0.0.1:${(server.address() as AddressInfo).port}/tls`
  return collector
}

/** The attached report, read by what reads those of others. */
async function reportIn(message: Buffer) {
  const { attachments, headers, subject } = await simpleParser(message)
  const [attachment] = attachments
  const text = gunzipSync(attachment?.content ?? Buffer.alloc(0)).toString()
  return { json: JSON.parse(text), read: parseTlsReport(text), attachment, headers, subject }
}

test('a domain that asks for it hears once, by mail and by HTTPS, how the day was, even if we were restarted in between', async () => {
  const mx = await testMx({ host: '127.0.3.11', tls: await testCertificate(['mx.rcpt.example']) })
  const plain = await testMx({ host: '127.0.3.25', port: mx.port })
  const inbox = await testMx({ host: '127.0.3.13', port: mx.port, tls: await testCertificate(['mx.reports.example']) })
  const collector = await startCollector()
  const zone: FakeZone = {
    ...at('rcpt.example', '127.0.3.11'),
    ...at('plain.example', '127.0.3.25'),
    ...at('silent.example', '127.0.3.25'),
    ...at('reports.example', '127.0.3.13'),
    '_smtp._tls.plain.example': asks(collector.uri),
    '_smtp._tls.reports.example': asks('mailto:tls@reports.example'),
  }
  const relay = await startTestRelay({ ...settings, delivery_port: String(mx.port) }, zone, localPoster())
  onTestFinished(() => relay.stop())
  const run = () => runTlsReports(relay.relay)
  const counted = () => relay.relay.services.db.read('select domain, sessions from tls_session order by domain')

  // Two messages over one connection are one session.
  await relay.send('ann@rcpt.example')
  await mx.waitForMessages(1)
  await relay.send('bob@rcpt.example')
  await mx.waitForMessages(2)
  expect(mx.sessions).toHaveLength(1)
  await relay.send('ann@plain.example')
  await plain.waitForMessages(1)
  // A stop writes what was counted.
  await relay.restart()
  expect(await counted()).toEqual([
    { domain: 'plain.example', sessions: 1 },
    { domain: 'rcpt.example', sessions: 1 },
  ])
  await relay.send('ann@rcpt.example')
  await mx.waitForMessages(3)
  await relay.send('ann@silent.example')
  await plain.waitForMessages(2)
  expect(mx.sessions).toHaveLength(2)
  await relay.restart()
  expect(await counted()).toEqual([
    { domain: 'plain.example', sessions: 1 },
    { domain: 'rcpt.example', sessions: 2 },
    { domain: 'silent.example', sessions: 1 },
  ])
  await run()
  expect(await relay.relay.services.db.read('select id from tls_report')).toEqual([])

  // Whoever asks at the end of the day has all of it.
  relay.dns.zone['_smtp._tls.rcpt.example'] = asks(`mailto:tls@reports.example,${collector.uri}`)
  relay.clock.set(Date.UTC(2026, 10, 22, 0, 10))
  await run()
  relay.clock.advance(4 * hour)
  for (let i = 0; i < 3; i++) await run()

  const [mail] = await inbox.waitForMessages(1)
  expect(mail?.mailFrom).toBe('')
  expect(await signatureVerdicts(relay, mail?.data ?? Buffer.alloc(0))).toEqual(['pass', 'pass'])
  const { json, read, attachment, headers, subject } = await reportIn(mail?.data ?? Buffer.alloc(0))
  expect(json).toEqual({
    'organization-name': 'Shop',
    'date-range': { 'start-datetime': '2026-11-21T00:00:00Z', 'end-datetime': '2026-11-21T23:59:59Z' },
    'contact-info': 'tls@sender.example',
    'report-id': expect.stringMatching(/^tlr_/),
    policies: [
      {
        policy: { 'policy-type': 'no-policy-found', 'policy-domain': 'rcpt.example' },
        summary: { 'total-successful-session-count': 2, 'total-failure-session-count': 0 },
      },
    ],
  })
  expect(read).toMatchObject([{ reporter: 'Shop', domain: 'rcpt.example', sessions: 2, failures: 0 }])
  expect(attachment?.contentType).toBe('application/tlsrpt+gzip')
  expect(attachment?.filename).toBe(`sender.example!rcpt.example!1795219200!1795305599!${json['report-id']}.json.gz`)
  expect(subject).toBe(`Report Domain: rcpt.example Submitter: sender.example Report-ID: <${json['report-id']}>`)
  expect([headers.get('tls-report-domain'), headers.get('tls-report-submitter'), headers.get('tls-required')]).toEqual([
    'rcpt.example',
    'sender.example',
    'No',
  ])
  expect(headers.get('content-type')).toMatchObject({ value: 'multipart/report', params: { 'report-type': 'tlsrpt' } })

  const posted = collector.posts.map(({ type, body }) => ({ type, report: JSON.parse(gunzipSync(body).toString()) }))
  expect(posted.map(({ type }) => type)).toEqual(['application/tlsrpt+gzip', 'application/tlsrpt+gzip'])
  const ofPlain = posted.find(({ report }) => report.policies[0].policy['policy-domain'] === 'plain.example')
  expect(ofPlain?.report.policies).toEqual([
    {
      policy: { 'policy-type': 'no-policy-found', 'policy-domain': 'plain.example' },
      summary: { 'total-successful-session-count': 0, 'total-failure-session-count': 1 },
      'failure-details': [
        {
          'result-type': 'starttls-not-supported',
          'receiving-mx-hostname': 'mx.plain.example',
          'receiving-ip': '127.0.3.25',
          'failed-session-count': 1,
          'failure-reason-code': 'EHLO does not offer STARTTLS',
        },
      ],
    },
  ])
  expect(posted.map(({ report }) => report)).toContainEqual(json)

  // No report is about the delivery of a report, and who asks for none is forgotten.
  relay.clock.advance(24 * hour)
  await run()
  relay.clock.advance(4 * hour)
  await run()
  expect([inbox.messages.length, collector.posts.length, await counted()]).toEqual([1, 2, []])
  const command = async (...argv: string[]) => (await runCommand({ argv, cwd: '/' }, relay.relay.services)).stdout
  expect((await command('tls-reports', 'list')).split('\n').filter((line) => / sent /.test(line))).toHaveLength(2)
  expect(JSON.parse(await command('tls-reports', 'show', json['report-id']))).toMatchObject({
    domain: 'rcpt.example',
    date: '2026-11-21',
    report: json,
  })
})

test('a report that cannot be delivered is tried for a day, and again when an operator says so', async () => {
  const mx = await testMx({ host: '127.0.3.14' })
  const collector = await startCollector()
  collector.status = 500
  const zone: FakeZone = { ...at('rcpt.example', '127.0.3.14'), '_smtp._tls.rcpt.example': asks(collector.uri) }
  const relay = await startTestRelay({ ...settings, delivery_port: String(mx.port) }, zone, localPoster())
  onTestFinished(() => relay.stop())
  await relay.send('ann@rcpt.example')
  await mx.waitForMessages(1)
  await relay.restart()
  const { apiKeys, accounts, db } = relay.relay.services
  expect(await db.read('select id from tls_session')).toHaveLength(1)
  relay.clock.set(Date.UTC(2026, 10, 22, 0, 10))
  await runTlsReports(relay.relay)
  relay.clock.advance(4 * hour)
  await runTlsReports(relay.relay)
  expect(collector.posts).toHaveLength(1)
  const { token } = await apiKeys.create({ accountId: accounts.getAccount('test').id, name: 'operator', permission: 'operator' })
  const call = (method: string, path: string) =>
    relay.call(method, `/api/tls-reports${path}`, undefined, { authorization: `Bearer ${token}` })
  const [report] = (await call('GET', '?domain=rcpt.example')).body.data
  expect(report).toMatchObject({
    status: 'due',
    sessions: 1,
    failures: 1,
    destinations: [{ uri: collector.uri, status: 'due', reason: 'The server answered 500.' }],
  })
  for (let passed = 0; passed < 26; passed++) {
    relay.clock.advance(hour)
    await runTlsReports(relay.relay)
  }
  expect((await call('GET', `/${report.id}`)).body).toMatchObject({ status: 'failed', next_attempt_at: null })
  const tried = collector.posts.length
  expect(tried).toBeGreaterThan(5)
  collector.status = 200
  const sent = await runCommand({ argv: ['tls-reports', 'send', report.id], cwd: '/' }, relay.relay.services)
  expect(JSON.parse(sent.stdout)).toMatchObject({ status: 'due' })
  await runTlsReports(relay.relay)
  expect((await call('GET', `/${report.id}`)).body).toMatchObject({ status: 'sent', report: { 'report-id': report.id } })
  expect(collector.posts).toHaveLength(tried + 1)
  expect((await call('POST', `/${report.id}/send`)).status).toBe(409)
})

test('nobody has a report posted to a private address, whatever webhooks may do', async () => {
  const mx = await testMx({ host: '127.0.3.18' })
  const collector = await startCollector()
  const zone: FakeZone = { ...at('rcpt.example', '127.0.3.18'), '_smtp._tls.rcpt.example': asks(collector.uri) }
  const allowed = { webhooks_allow_private_addresses: 'true', delivery_port: String(mx.port) }
  const relay = await startTestRelay({ ...settings, ...allowed }, zone)
  onTestFinished(() => relay.stop())
  await relay.send('ann@rcpt.example')
  await mx.waitForMessages(1)
  await relay.restart()
  relay.clock.set(Date.UTC(2026, 10, 22, 0, 10))
  await runTlsReports(relay.relay)
  relay.clock.advance(4 * hour)
  await runTlsReports(relay.relay)
  const [report] = await relay.relay.services.db.read<{ destinations: string }>('select destinations from tls_report')
  expect(JSON.parse(report?.destinations ?? '')).toMatchObject([{ state: 'due', reason: '127.0.0.1 is not a public address.' }])
  expect(collector.posts).toEqual([])
})

test('two nodes count together, and one report goes out, even if the one that began it dies', async () => {
  const mx = await testMx({ host: '127.0.3.15', tls: await testCertificate(['mx.rcpt.example']) })
  const inbox = await testMx({ host: '127.0.3.16', port: mx.port })
  const zone: FakeZone = {
    ...at('rcpt.example', '127.0.3.15'),
    ...at('reports.example', '127.0.3.16'),
    '_smtp._tls.rcpt.example': asks('mailto:tls@reports.example'),
  }
  const { a, b } = await startTwoNodes({ ...settings, delivery_port: String(mx.port) }, zone)
  const { accounts, apiKeys, sendingDomains, db } = a.relay.services
  const account = await accounts.create('shop', 'enterprise')
  await sendingDomains.verifyManually((await sendingDomains.add(account.id, 'sender.example')).id)
  const { token } = await apiKeys.create({ accountId: account.id, name: 'shop', permission: 'full_access' })
  await passTime(1_000, a, b)
  for (const { relay } of [a, b]) await relay.services.changes.caughtUp()
  const body = { from: 'app@sender.example', to: 'bob@rcpt.example', subject: 'Hi', text: 'Hi' }
  const sendBy = async ({ call }: TestNode): Promise<void> => {
    const already = mx.messages.length
    expect((await call('POST', '/api/send', { token, body })).status).toBe(200)
    await mx.waitForMessages(already + 1)
  }
  for (const node of [a, b, a, b]) await sendBy(node)
  const sessions = mx.sessions.length
  const sum = async () => (await db.read<{ sum: number }>('select sum(sessions) as sum from tls_session'))[0]?.sum
  await expect.poll(async () => (await passTime(1_000, a, b), sum())).toBe(sessions)
  // Both, as when one is taken for dead while it works.
  const day = Date.UTC(2026, 10, 22, 0, 10) - a.clock.now()
  for (let passed = 0; passed < day; passed += hour) await passTime(hour, a, b)
  await Promise.all([a, b].map(({ relay }) => runTlsReports(relay)))
  await passTime(4 * hour, a, b)
  await Promise.all([a, b].map(({ relay }) => runTlsReports(relay)))
  await runTlsReports(b.relay)
  const [mail] = await inbox.waitForMessages(1)
  const { json } = await reportIn(mail?.data ?? Buffer.alloc(0))
  expect(json.policies[0].summary).toEqual({ 'total-successful-session-count': sessions, 'total-failure-session-count': 0 })
  expect(await db.read('select state from tls_report')).toEqual([{ state: 'sent' }])
  expect(await db.read(`select count(*) as mails from message where source = 'system'`)).toEqual([{ mails: 1 }])
})
