import { expect, onTestFinished, test } from 'vitest'
import { SmtpClient } from '../support/smtp-client.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const host = '127.0.2.41'
const hour = 3_600_000

async function start(settings: Record<string, string> = {}): Promise<TestRelay> {
  const mx = await startFakeMx({ host })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay({ delivery_port: String(mx.port), ...settings }, { 'rcpt.example': { a: [host] } })
  onTestFinished(() => relay.stop())
  return relay
}

const email = (to: string | string[]) => ({ from: 'app@sender.example', to, subject: 'Hi', text: 'Hi' })
const people = (count: number): string[] => Array.from({ length: count }, (_, place) => `ann${place}@rcpt.example`)
const daily = { status: 429, body: { name: 'daily_quota_exceeded' } }

test('a plan bounds the recipients of a day over HTTP and SMTP alike, through a restart and until midnight', async () => {
  const relay = await start({ quotas_daily: 'enterprise=5' })
  await relay.send(people(3))
  const { token: sandboxKey } = (await relay.call('POST', '/api/api-keys', { name: 'tests', sandbox: true })).body
  const sandbox = { authorization: `Bearer ${sandboxKey}` }
  expect(await relay.call('POST', '/api/send', email(people(9)), sandbox)).toMatchObject({ status: 200 })
  expect(await relay.call('POST', '/api/send', email(people(3)))).toMatchObject(daily)
  expect(await relay.call('POST', '/api/emails/batch', [email(people(2)), email('bob@rcpt.example')])).toMatchObject(daily)
  expect((await relay.call('GET', '/api/account/quota')).body).toMatchObject({
    day: { limit: 5, used: 3, remaining: 2 },
    month: { limit: null, used: 3, remaining: null },
  })
  await relay.restart()

  const submit = async (to: string[]): Promise<string> => {
    const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
    await client.command('MAIL FROM:<app@sender.example>')
    for (const each of to) await client.command(`RCPT TO:<${each}>`)
    await client.command('DATA')
    return (await client.command('From: app@sender.example\r\nSubject: Hi\r\n\r\nHi\r\n.')).last
  }
  expect(await submit(people(3))).toMatch(/^452 4\.7\.1 This account may mail 5 recipients a day and has mailed 3/)
  expect(await submit(people(2))).toMatch(/^250 /)
  const refused = await relay.call('POST', '/api/send', email('bob@rcpt.example'))
  expect(refused).toMatchObject(daily)

  relay.clock.advance(24 * hour)
  await relay.send('bob@rcpt.example')
  expect((await relay.call('GET', '/api/account/quota')).body).toMatchObject({ day: { used: 1, remaining: 4 } })
})

test('suppressed recipients and replays do not count, and refused mail leaves nothing', async () => {
  const relay = await start({ quotas_daily: 'enterprise=2' })
  await relay.call('POST', '/api/suppressions', { email: 'gone@rcpt.example' })
  const idempotent = { 'idempotency-key': 'one' }
  for (const replay of [false, true]) {
    const { status } = await relay.call(
      'POST',
      '/api/send',
      email(['gone@rcpt.example', 'ann@rcpt.example', 'bob@rcpt.example']),
      idempotent,
    )
    expect([replay, status]).toEqual([replay, 200])
  }
  expect((await relay.call('GET', '/api/account/quota')).body.day).toMatchObject({ used: 2, remaining: 0 })
  expect(await relay.call('POST', '/api/send', email('cid@rcpt.example'), { 'idempotency-key': 'two' })).toMatchObject(daily)
  const { db } = relay.relay.services
  expect(await db.read(`select id from recipient where forward_path = 'cid@rcpt.example'`)).toEqual([])
  // A refusal does not use up the key.
  relay.clock.advance(24 * hour)
  expect(await relay.call('POST', '/api/send', email('cid@rcpt.example'), { 'idempotency-key': 'two' })).toMatchObject({ status: 200 })
  expect(await relay.call('POST', '/api/send', email('gone@rcpt.example'))).toMatchObject({ status: 200 })
  expect((await relay.call('GET', '/api/account/quota')).body.day).toMatchObject({ used: 1 })
})

test('an operator changes the quota of an account, and the account that of its domain', async () => {
  const relay = await start()
  const { accounts, apiKeys } = relay.relay.services
  const account = accounts.getAccount('test')
  const { token } = await apiKeys.create({ accountId: account.id, name: 'operator', permission: 'operator' })
  const operator = { authorization: `Bearer ${token}` }
  const path = `/api/accounts/${account.id}/quota`
  expect(await relay.call('PATCH', path, { day: 1 })).toMatchObject({ status: 403 })
  expect(await relay.call('PATCH', path, { day: -1 }, operator)).toMatchObject({ status: 422 })
  expect(await relay.call('PATCH', path, { month: 3 }, operator)).toMatchObject({ status: 200, body: { month: { limit: 3 } } })
  await relay.send(people(2))
  expect(await relay.call('POST', '/api/send', email(people(2)))).toMatchObject({ status: 429, body: { name: 'monthly_quota_exceeded' } })
  expect(await relay.call('PATCH', path, { month: 'unlimited' }, operator)).toMatchObject({ body: { month: { limit: null, used: null } } })
  expect(await relay.call('PATCH', '/api/domains/sender.example/quota', { day: 3 })).toMatchObject({
    status: 200,
    body: { day: { limit: 3, used: 0, remaining: 3 } },
  })
  await relay.send(people(2))
  expect(await relay.call('POST', '/api/send', email(people(2)))).toMatchObject(daily)
  await relay.send('ann@rcpt.example')
  expect((await relay.call('GET', '/api/domains/sender.example/quota')).body.day).toMatchObject({ used: 3, remaining: 0 })
})
