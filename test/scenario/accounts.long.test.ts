import { expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { welcome } from '../../src/clients/command/welcome.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const message = 'From: app@sender.example\r\nTo: delivered@simulator.test\r\nSubject: Hi\r\n\r\nHi\r\n'
const envelope = { from: 'app@sender.example', to: ['delivered@simulator.test'] }

async function start(settings: Record<string, string> = {}): Promise<TestRelay & { operator: string }> {
  const relay = await startTestRelay(settings)
  onTestFinished(() => relay.stop())
  const { accounts, apiKeys } = relay.relay.services
  const { id } = await accounts.create('host', 'free')
  const { token } = await apiKeys.create({ accountId: id, name: 'operator', permission: 'operator' })
  return Object.assign(relay, { operator: token })
}

async function openSession(relay: TestRelay, token: string): Promise<SmtpClient> {
  const client = await SmtpClient.logIn(relay.submissionPort, token)
  onTestFinished(() => client.close())
  return client
}

const command = (relay: TestRelay, ...argv: string[]) => runCommand({ argv, cwd: '/' }, relay.relay.services)

test('suspending an account stops its mail at every door at once, in open SMTP sessions too, and reading goes on', async () => {
  const relay = await start()
  const { id } = relay.relay.services.accounts.getAccount('test')
  const setStatus = async (status: string) => {
    const answer = await relay.call('PATCH', `/api/accounts/${id}`, { status }, { authorization: `Bearer ${relay.operator}` })
    expect(answer).toMatchObject({ status: 200, body: { status } })
  }
  const [idle, busy] = [await openSession(relay, relay.token), await openSession(relay, relay.token)]
  expect((await idle.send(message, envelope)).code).toBe(250)
  expect((await busy.command('MAIL FROM:<app@sender.example>')).code).toBe(250)
  await setStatus('suspended')

  expect((await idle.command('MAIL FROM:<app@sender.example>')).code).toBe(550)
  expect((await busy.command('RCPT TO:<delivered@simulator.test>')).code).toBe(250)
  expect((await busy.command('DATA')).code).toBe(354)
  expect((await busy.command(`${message}.`)).code).toBe(550)
  const email = { from: 'app@sender.example', to: 'delivered@simulator.test', subject: 'Hi', text: 'Hi' }
  expect(await relay.call('POST', '/api/send', email)).toMatchObject({ status: 403, body: { name: 'account_suspended' } })
  expect(await relay.call('POST', '/api/emails/batch', [email])).toMatchObject({ status: 403, body: { name: 'account_suspended' } })
  const { body } = await relay.call('GET', '/api/emails')
  expect(body.data).toHaveLength(1)

  await setStatus('active')
  expect((await idle.send(message, envelope)).code).toBe(250)
  expect((await relay.call('POST', '/api/send', email)).status).toBe(200)
})

test('an open SMTP session ends with the token it was begun with', async () => {
  const relay = await start()
  const { body: key } = await relay.call('POST', '/api/api-keys', { name: 'app', permission: 'sending_access' })
  const before = await openSession(relay, key.token)
  const rotate = (body: object) => relay.call('POST', `/api/api-keys/${key.id}/rotate`, body)
  const { body: second } = await rotate({ overlap_seconds: 60 })
  const after = await openSession(relay, second.token)
  const codes = async () => [(await before.send(message, envelope)).code, (await after.send(message, envelope)).code]
  expect(await codes()).toEqual([250, 250])
  relay.clock.advance(60_000)
  expect(await codes()).toEqual([535, 250])
  await rotate({ overlap_seconds: 0 })
  expect(await codes()).toEqual([535, 535])
})

test('the set-up link is printed anew at each start until somebody has used it', async () => {
  const relay = await start()
  const { accounts, apiKeys } = relay.relay.services
  // The log of a server with a live key gets no link.
  for (const { id } of accounts.list().flatMap((account) => apiKeys.list(account.id))) await apiKeys.revoke(id)
  const linkIn = (text: string) => /https?:\/\/[^/]+(\/setup\/[\w-]+)/.exec(text)?.[1] ?? ''
  const welcomed = async () => (await welcome(relay.relay, { version: '0.0.0', start: null })).stdout
  const first = linkIn(await welcomed())
  await relay.restart()
  const second = linkIn(await welcomed())
  const statusOf = async (path: string) => (await fetch(relay.baseUrl + path)).status
  expect([await statusOf(first), await statusOf(second)]).toEqual([404, 200])
  const done = await fetch(relay.baseUrl + second, {
    method: 'POST',
    body: new URLSearchParams({ email: 'ann@test.example', password: 'correct horse' }),
  })
  expect(done.status).toBe(200)
  const cookie = done.headers.get('set-cookie')?.split(';')[0] ?? ''
  await relay.restart()
  expect(await welcomed()).toContain(`HTTP                  127.0.0.1:${new URL(relay.baseUrl).port}\n`)
  expect(await welcomed()).not.toContain('log in')
  const exchanged = await fetch(`${relay.baseUrl}/session/token`, { method: 'POST', headers: { cookie } })
  const { token } = (await exchanged.json()) as { token: string }
  const { body } = await relay.call('GET', '/api/accounts', undefined, { authorization: `Bearer ${token}` })
  expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['host', 'test'])
  const sent = await relay.call(
    'POST',
    '/api/send',
    { from: 'app@sender.example', to: 'delivered@simulator.test', subject: 'Hi', text: 'Hi' },
    { authorization: `Bearer ${token}` },
  )
  expect(sent.status).toBe(200)
})

test('what commands change is on record, without what was given', async () => {
  const relay = await start()
  const audit = async (query = '') => {
    const { body } = await relay.call('GET', `/api/audit?actor=command${query}`, undefined, { authorization: `Bearer ${relay.operator}` })
    return body.data as Record<string, unknown>[]
  }
  const { stdout: token } = await command(relay, 'key', 'create', '--account', 'test', '--name', 'confidential')
  const key = relay.relay.services.apiKeys.authenticate(token.trim())
  const { stdout: rotated } = await command(relay, 'key', 'rotate', 'id' in key ? key.id : '')
  await command(relay, 'key', 'list', '--account', 'test')
  await command(relay, 'account', 'suspend', 'test')
  await command(relay, 'account', 'suspend', 'nobody')
  const { stdout: link } = await command(relay, 'user', 'invite', 'ann@test.example', '--account', 'test', '--role', 'admin')
  const told = await audit()
  const { id } = relay.relay.services.accounts.getAccount('test')
  expect(told.map(({ action, account_id, object_id, fields, address }) => [action, account_id, object_id, fields, address])).toEqual([
    ['users.invite', id, expect.stringMatching(/^usr_/), ['role', 'email'], null],
    ['accounts.update', id, id, ['status'], null],
    ['api_keys.rotate', id, expect.stringMatching(/^key_/), [], null],
    ['api_keys.create', id, expect.stringMatching(/^key_/), ['name'], null],
  ])
  expect(told.every(({ actor }) => (actor as { type: string }).type === 'command')).toBe(true)
  for (const secret of [token, rotated, link, 'confidential']) expect(JSON.stringify(told)).not.toContain(secret.trim().slice(-20))
})

test('only a trusted proxy says where a client is', async () => {
  const relay = await start({ trusted_proxies: '127.0.0.1/32' })
  await relay.call('POST', '/api/api-keys', { name: 'x' }, { 'x-forwarded-for': '192.0.2.66, 203.0.113.9' })
  const { body } = await relay.call('GET', '/api/audit?limit=1', undefined, { authorization: `Bearer ${relay.operator}` })
  expect(body.data[0]).toMatchObject({ action: 'api_keys.create', address: '203.0.113.9' })
})
