import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import type { CommandResult } from '../../src/clients/command/control-socket.ts'
import { composeDmarcReport, reportMail } from '../support/compose-domain-report.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

const host = '127.0.2.7'

async function start(): Promise<TestRelay & { mx: FakeMx }> {
  const replies = [
    ['gone', '550 5.1.1 No such user'],
    ['later', '451 4.7.1 Greylisted, try again later'],
  ] as const
  const mx = await startFakeMx({ host, on: { rcpt: (address) => replies.find(([beginning]) => address.startsWith(beginning))?.[1] } })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port), webhooks_allow_private_addresses: 'true', webhooks_allow_http: 'true' },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } },
  )
  onTestFinished(() => relay.stop())
  return Object.assign(relay, { mx })
}

/** A command that runs, and what it has told so far. */
interface Running {
  told(): string
  leave(): void
  result: Promise<CommandResult>
}

function begin(relay: TestRelay, ...argv: string[]): Running {
  let text = ''
  const leaving = new AbortController()
  const tell = async ({ stdout = '' }: { stdout?: string }) => void (text += stdout)
  const result = runCommand({ argv, cwd: relay.dataDir }, relay.relay.services, { tell, signal: leaving.signal })
  return { told: () => text, leave: () => leaving.abort(), result }
}

async function run(relay: TestRelay, ...argv: string[]): Promise<CommandResult & { told: string }> {
  const { told, result } = begin(relay, ...argv)
  return { ...(await result), told: told() }
}

const settled = async (relay: TestRelay, id: string, to: string, state: string) =>
  expect.poll(async () => (await relay.recipients(id))[to]?.status).toBe(state)

test('message list and show say what the API says, with its filters', async () => {
  const relay = await start()
  const good = await relay.send('ann@rcpt.example', { tags: { kind: 'welcome' }, subject: 'Hello' })
  const bad = await relay.send('gone@rcpt.example')
  await settled(relay, good, 'ann@rcpt.example', 'delivered')
  await settled(relay, bad, 'gone@rcpt.example', 'bounced')

  const list = async (...more: string[]) => (await run(relay, 'message', 'list', '--account', 'test', ...more)).stdout
  expect(await list()).toMatch(new RegExp(`^ID .*\\n${bad} .* bounced .*gone@rcpt\\.example.*\\n${good} .* delivered .*Hello\\n$`))
  expect(await list('--status', 'bounced', '--to', 'gone@rcpt.example')).not.toContain(good)
  expect(JSON.parse(await list('--tag', 'kind=welcome', '--json'))).toEqual(
    (await relay.call('GET', '/api/emails?tag=kind%3Dwelcome')).body,
  )
  expect(await run(relay, 'message', 'list', '--account', 'test', '--limit', '1')).toMatchObject({ stderr: `More: --after ${bad}\n` })
  expect(await list('--after', bad)).not.toContain(bad)
  expect(await run(relay, 'message', 'list', '--account', 'test', '--since', 'soon')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/^sterna: --since /),
  })

  const shown = await run(relay, 'message', 'show', bad)
  expect(shown.stdout).toContain('  status    bounced')
  expect(shown.stdout).toMatch(/gone@rcpt\.example: bounced after 1 attempt\n {4}last response {2}550 5\.1\.1 No such user/)
  expect(shown.stdout).toMatch(/what it means {2}The mailbox does not exist at the receiving server/)
  expect(JSON.parse((await run(relay, 'message', 'show', good, '--json')).stdout)).toEqual(
    (await relay.call('GET', `/api/emails/${good}`)).body,
  )
  expect(await run(relay, 'message', 'show', 'em_1')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('There is no email "em_1"'),
  })
})

test('message tail follows what happens, each event once, until its reader leaves', async () => {
  const relay = await start()
  const first = await relay.send('ann@rcpt.example')
  await settled(relay, first, 'ann@rcpt.example', 'delivered')
  const lines = begin(relay, 'message', 'tail', '--account', 'test')
  const objects = begin(relay, 'message', 'tail', '--account', 'test', '--json', '--type', 'email.delivered', '--since', '2020-01-01')
  await expect.poll(objects.told).toContain(first)
  const second = await relay.send(['bob@rcpt.example', 'gone@rcpt.example'])
  await expect.poll(() => lines.told().split('\n').length).toBe(5)
  await expect.poll(() => objects.told().split('\n').length).toBe(3)
  expect(lines.told()).toMatch(new RegExp(`^\\S+Z {2}bounced +${second} {2}gone@rcpt\\.example {2}550 5\\.1\\.1 No such user$`, 'm'))
  expect(lines.told()).not.toContain(first)
  const events = objects
    .told()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(events.map(({ type, data }) => [type, data.to])).toEqual([
    ['email.delivered', 'ann@rcpt.example'],
    ['email.delivered', 'bob@rcpt.example'],
  ])
  for (const running of [lines, objects]) {
    running.leave()
    expect(await running.result).toEqual({ stdout: '', stderr: '', exitCode: 0 })
  }
})

test('send-test says in plain words what became of the mail', async () => {
  const relay = await start()
  const good = await run(relay, 'send-test', 'ann@rcpt.example', '--account', 'test')
  expect(good.told).toMatch(/^Accepted as em_\w+\.\n\S+ {2}delivered by mx\.rcpt\.example: 2\.0\.0 Ok/)
  expect(good).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^Delivered after [\d.]+ s: mx\.rcpt\.example took it .*, signed with DKIM\.\n$/),
  })

  const bad = await run(relay, 'send-test', 'gone@rcpt.example', '--account', 'test', '--from', 'me@sender.example')
  expect(bad.told).toContain('what it means')
  expect(bad).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/^Not delivered: .*No such user\n$/) })

  await run(relay, 'suppression', 'add', 'bob@rcpt.example', '--account', 'test')
  expect(await run(relay, 'send-test', 'bob@rcpt.example', '--account', 'test', '--json')).toMatchObject({ exitCode: 1, told: '' })
  expect(await run(relay, 'send-test', 'bob@rcpt.example', '--account', 'test')).toMatchObject({
    stdout: expect.stringContaining('Nothing was sent: bob@rcpt.example is suppressed.'),
  })

  const waiting = begin(relay, 'send-test', 'later@rcpt.example', '--account', 'test', '--wait', '30s')
  await expect.poll(waiting.told).toContain('greylisting')
  relay.clock.advance(30_000)
  expect(await waiting.result).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/^Not delivered yet, and still in the queue\. The next attempt is due at .*sterna message show em_/),
  })
  expect(JSON.parse((await run(relay, 'send-test', 'ann@rcpt.example', '--account', 'test', '--json')).stdout)).toMatchObject({
    object: 'test',
    outcome: 'delivered',
    email: { object: 'email', status: 'delivered' },
    attempts: [{ object: 'attempt', outcome: 'delivered' }],
  })
  expect(await run(relay, 'send-test', 'ann@rcpt.example', '--account', 'test', '--from', 'me@other.example')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('other.example is not verified'),
  })
  expect((await run(relay, 'send-test', 'ann@rcpt.example', '--account', 'test', '--wait', 'soon')).exitCode).toBe(2)
})

test('what is added to the suppressions holds at once, and is told, until it is removed', async () => {
  const relay = await start()
  const on = (...argv: string[]) => run(relay, 'suppression', ...argv, '--account', 'test')
  expect((await on('check', 'Ann@rcpt.example')).stdout).toBe('Ann@rcpt.example is not suppressed.\n')
  const added = await on('add', 'ann@rcpt.example', '--reason', 'asked on the phone')
  expect(added.stdout).toMatch(/^sup_\w+\n$/)
  expect((await on('check', 'Ann@rcpt.example')).stdout).toMatch(/is suppressed: manual, since \S+Z\. asked on the phone\n$/)
  expect((await on('list')).stdout).toMatch(/ann@rcpt\.example +manual/)
  expect(JSON.parse((await on('list', '--json')).stdout)).toEqual((await relay.call('GET', '/api/suppressions')).body)
  const id = await relay.send('ann@rcpt.example')
  expect((await relay.recipients(id))['ann@rcpt.example']?.status).toBe('suppressed')
  expect((await on('remove', 'ann@rcpt.example', '--yes')).exitCode).toBe(0)
  expect((await on('check', 'ann@rcpt.example')).stdout).toContain('not suppressed')
  expect(await on('remove', 'ann@rcpt.example', '--yes')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('no suppression of'),
  })
  expect((await on('add', 'ann')).exitCode).toBe(2)
})

test('a webhook is tested, disabled, enabled and removed by its id', async () => {
  const relay = await start()
  const receiver = await startReceiver(status(200))
  const made = JSON.parse((await run(relay, 'webhook', 'add', receiver.url, '--account', 'test')).stdout) as { id: string }
  expect((await run(relay, 'webhook', 'test', made.id)).stdout).toMatch(/ answered 200 after \d+ ms\.\n$/)
  expect(receiver.posts[0]?.headers['x-service-test']).toBe('true')
  receiver.behave = status(500, {}, 'out of order')
  expect(await run(relay, 'webhook', 'test', made.id, '--event', 'email.bounced')).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/ answered 500 after \d+ ms: out of order\.\n$/),
  })
  expect(JSON.parse((await run(relay, 'webhook', 'disable', made.id, '--json')).stdout)).toMatchObject({ status: 'disabled' })
  expect((await run(relay, 'webhook', 'list', '--account', 'test')).stdout).toContain('disabled (manual)')
  expect(JSON.parse((await run(relay, 'webhook', 'enable', made.id, '--json')).stdout)).toMatchObject({ status: 'enabled' })
  expect((await run(relay, 'webhook', 'remove', made.id, '--yes')).exitCode).toBe(0)
  expect(await run(relay, 'webhook', 'test', made.id)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('There is no webhook'),
  })
})

test('operations run in the serving process, and mail is sent with them', async () => {
  const relay = await start()
  const json = async (...argv: string[]) => JSON.parse((await run(relay, 'api', ...argv, '--account', 'test')).stdout)
  const mail = ['--from', 'app@sender.example', '--to', 'ann@rcpt.example', '--subject', 'Hello', '--text', 'Hello']
  const { id } = await json('emails.send', ...mail)
  await settled(relay, id, 'ann@rcpt.example', 'delivered')
  expect(await json('emails.list')).toEqual((await relay.call('GET', '/api/emails')).body)
  expect(await run(relay, 'api', 'emails.send', '--account', 'test', ...mail.slice(0, 4))).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('--subject'),
  })
  await run(relay, 'suppression', 'add', 'eve@rcpt.example', '--account', 'test')
  expect((await run(relay, 'api', 'suppressions.export', '--account', 'test')).told).toContain('eve@rcpt.example')
  const stream = begin(relay, 'api', 'events.stream', '--account', 'test')
  await relay.send('bob@rcpt.example')
  await expect.poll(stream.told).toContain('bob@rcpt.example')
  stream.leave()
  expect(await stream.result).toEqual({ stdout: '', stderr: '', exitCode: 0 })
})

/** As a browser makes one, for the first user. */
const keepPasskey = ({ relay: { services } }: TestRelay) =>
  services.db.write([
    {
      sql: `insert into passkey (id, user_id, credential_id, public_key, counter, transports, name, created_at)
            select 'pk_1', id, 'credential', :key, 0, '', 'Phone', 0 from account_user`,
      params: { key: Buffer.alloc(8) },
      expect: 1,
    },
  ])

/** A receiver reports about the relay's domain. */
async function hearOfDomain(relay: TestRelay): Promise<void> {
  const rows = [{ sourceIp: '192.0.2.25', messages: 2, dkimAligned: true, spfAligned: false }]
  const report = composeDmarcReport({ beginAt: relay.clock.now() - 2 * 86_400_000, reporter: 'receiver.example', rows })
  const client = await SmtpClient.connect(relay.returnPathPort)
  await client.command('EHLO mx.receiver.example')
  const mail = reportMail([{ type: 'text/xml', content: Buffer.from(report) }])
  expect((await client.send(mail, { to: ['dmarc-reports@relay.example'] })).code).toBe(250)
  client.close()
  await expect.poll(async () => (await relay.call('GET', '/api/domains/sender.example/reports')).body.data).toHaveLength(1)
}

test('an export has all of an account, and nothing of another one or secret', async () => {
  const relay = await start()
  const { url } = await startReceiver(status(200))
  const webhook = (await relay.call('POST', '/api/webhooks', { url })).body
  const ids = [await relay.send('ann@rcpt.example', { tags: { kind: 'welcome' } }), await relay.send('gone@rcpt.example')]
  await settled(relay, ids[0] ?? '', 'ann@rcpt.example', 'delivered')
  await settled(relay, ids[1] ?? '', 'gone@rcpt.example', 'bounced')
  const template = (await relay.call('POST', '/api/templates', { name: 'Hello', alias: 'hello', subject: 'Hi', html: '<p>Hi</p>' })).body.id
  await relay.call('POST', `/api/templates/${template}/publish`)
  await run(relay, 'account', 'quota', 'test', '--domain', 'sender.example', '--day', '50')
  await run(relay, 'user', 'invite', 'ann@example.com', '--account', 'test')
  await keepPasskey(relay)
  await hearOfDomain(relay)
  await relay.call('POST', '/api/erasures', { email: 'nobody@rcpt.example' })
  await expect.poll(async () => (await relay.call('GET', '/api/erasures')).body.data[0]?.status).toBe('done')
  const deliveries = async (state: string) => (await relay.call('GET', `/api/webhooks/${webhook.id}/deliveries?status=${state}`)).body.data
  await expect.poll(() => deliveries('pending')).toEqual([])
  const other = (await run(relay, 'account', 'create', 'other')).stdout.trim()
  await run(relay, 'suppression', 'add', 'eve@rcpt.example', '--account', 'other')

  const directory = join(testDirectory(), 'out')
  const ran = await run(relay, 'account', 'export', 'test', directory, '--json')
  expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
  const read = (name: string) => readFileSync(join(directory, name), 'utf8')
  const lines = (name: string) =>
    read(name)
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  const manifest = JSON.parse(read('manifest.json'))
  expect(JSON.parse(ran.stdout)).toEqual({ ...manifest, directory })
  for (const { name, lines: count } of manifest.files) expect(lines(name)).toHaveLength(count)
  expect(manifest.files).toHaveLength(29)

  expect(JSON.parse(read('account.json'))).toEqual((await relay.call('GET', '/api/account')).body)
  const emails = lines('live/emails.ndjson')
  expect(emails.map(({ id }) => id)).toEqual(ids.toReversed())
  const { html: _html, text: _text, ...record } = (await relay.call('GET', `/api/emails/${ids[0]}`)).body
  expect(emails[1]).toEqual(record)
  expect(lines('live/attempts.ndjson')).toEqual(
    (await relay.call('GET', `/api/emails/${ids[1]}/attempts`)).body.data.concat(
      (await relay.call('GET', `/api/emails/${ids[0]}/attempts`)).body.data,
    ),
  )
  expect(lines('live/events.ndjson').map(({ data }) => data.email_id)).toEqual(expect.arrayContaining(ids))
  const message = read(`live/messages/${record.created_at.slice(0, 10)}/${ids[0]}.eml`)
  expect(message).toMatch(/^To: ann@rcpt\.example\r$/m)
  expect(lines('live/suppressions.ndjson').map(({ email }) => email)).toEqual(['gone@rcpt.example'])
  expect(lines('live/webhooks.ndjson').map(({ id }) => id)).toEqual([webhook.id])
  expect(lines('templates.ndjson')).toEqual([(await relay.call('GET', '/api/templates/hello')).body])
  expect(lines('template-versions.ndjson')).toMatchObject([{ template_id: template, number: 1, is_sent: true }])
  expect(lines('domains.ndjson').map(({ name }) => name)).toEqual(['sender.example'])
  expect(lines('api-keys.ndjson')).toHaveLength(1)
  expect(lines('quotas.ndjson')).toEqual([
    (await relay.call('GET', '/api/account/quota')).body,
    (await relay.call('GET', '/api/domains/sender.example/quota')).body,
  ])
  expect(lines('suppression-policy.ndjson')).toMatchObject([{ object: 'suppression_policy', hard_bounces: true }])
  expect(lines('retry-schedule.ndjson')).toMatchObject([{ object: 'retry_schedule', own: { delays_seconds: null } }])
  expect(lines('recipient-tls.ndjson')).toMatchObject([{ object: 'recipient_tls', own: { domains: null } }])
  expect(lines('passkeys.ndjson')).toMatchObject([{ user_id: lines('users.ndjson')[0].id, name: 'Phone' }])
  const [report] = (await relay.call('GET', '/api/domains/sender.example/reports')).body.data
  expect(lines('domain-reports.ndjson')).toEqual([{ domain_id: lines('domains.ndjson')[0].id, ...report }])
  const rows = (await relay.call('GET', `/api/domains/sender.example/reports/${report.id}/rows`)).body.data
  expect(lines('domain-report-rows.ndjson')).toEqual(rows.map((row: object) => ({ report_id: report.id, ...row })))
  expect(lines('erasures.ndjson')).toEqual((await relay.call('GET', '/api/erasures')).body.data)
  const posted = lines('live/webhook-deliveries.ndjson')
  expect(posted.length).toBeGreaterThan(3)
  for (const { webhook_id, ...one } of posted)
    expect([webhook_id, one]).toEqual([webhook.id, (await relay.call('GET', `/api/webhooks/${webhook.id}/deliveries/${one.id}`)).body])

  for (const { name } of manifest.files)
    for (const secret of [relay.token, webhook.signing_secret, other]) expect(read(name)).not.toContain(secret)
  expect(statSync(directory).mode & 0o777).toBe(0o700)
  expect(statSync(join(directory, 'manifest.json')).mode & 0o777).toBe(0o600)
  expect(await run(relay, 'account', 'export', 'test', directory)).toMatchObject({
    exitCode: 1,
    stderr: `sterna: ${directory} is not empty. Name a new directory.\n`,
  })
})

test('an export whose reader leaves ends, and has no manifest', async () => {
  const relay = await start()
  await relay.send('ann@rcpt.example')
  const directory = join(testDirectory(), 'out')
  const running = begin(relay, 'account', 'export', 'test', directory)
  running.leave()
  expect(await running.result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('interrupted') })
  expect(existsSync(join(directory, 'manifest.json'))).toBe(false)
})

test('the queue commands print JSON too', async () => {
  const relay = await start()
  const id = await relay.send('later@rcpt.example')
  await settled(relay, id, 'later@rcpt.example', 'deferred')
  const json = async (...argv: string[]) => JSON.parse((await run(relay, 'queue', ...argv, '--json')).stdout)
  expect(await json('list')).toMatchObject({
    object: 'list',
    data: [{ object: 'queue_destination', destination: 'rcpt.example', waiting: 1 }],
  })
  expect(await json('hold', id)).toEqual({ object: 'queue_change', what: id, recipients: 1 })
  expect(await json('show', id)).toMatchObject({ object: 'list', data: [{ email_id: id, held: true, to: 'later@rcpt.example' }] })
  expect(await json('release', id)).toEqual({ object: 'queue_change', what: id, recipients: 1 })
  expect(await json('retry', 'rcpt.example')).toEqual({ object: 'queue_change', what: 'rcpt.example', recipients: 1 })
})
