import { simpleParser } from 'mailparser'
import { expect, onTestFinished, test } from 'vitest'
import { fromBase32 } from '../support/base32.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { totpCode, totpStepAt } from '../../src/senders/account/totp.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const password = 'correct horse battery'

async function addUser({ relay }: TestRelay, email: string): Promise<void> {
  const { accounts, people } = relay.services
  const { token } = await people.users.invite({ accountId: accounts.getAccount('test').id, email, role: 'owner', operator: true })
  await people.users.takeInvitation(token, password)
}

const post = (url: string, body: object, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })

test('a user who forgot the password gets a mail, sets another with its link, also after a restart, and logs in', async () => {
  const inbox = await startFakeMx({ host: '127.0.3.9' })
  onTestFinished(() => inbox.close())
  const settings = { delivery_port: String(inbox.port), base_url: 'https://mail.example.com' }
  const test = await startTestRelay(settings, { 'people.example': { a: ['127.0.3.9'] } })
  onTestFinished(() => test.stop())
  await addUser(test, 'ann@people.example')
  const answer = await post(`${test.baseUrl}/session/password/reset`, { email: 'Ann@people.example' })
  expect([answer.status, await answer.json()]).toEqual([202, { object: 'password_reset_request' }])
  await expect.poll(() => inbox.messages.length).toBe(1)
  const mail = await simpleParser(inbox.messages[0]?.data ?? '')
  expect([mail.subject, mail.from?.value[0]?.address]).toEqual(['Set a new password for mail.example.com', 'postmaster@relay.example'])
  expect(mail.headers.get('auto-submitted')).toBe('auto-generated')
  const link = /https:\/\/mail\.example\.com(\/reset\/\S+)/.exec(mail.text ?? '')
  for (const shown of [mail.text, String(mail.html).replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))]) {
    expect(shown).toContain('ann@people.example')
    expect(shown).toContain(link?.[0])
    expect(shown).toMatch(/came from the address 127\.0\.0\.1.*If that was not you, do nothing/s)
  }
  await test.restart()
  const use = () => fetch(test.baseUrl + link?.[1], { method: 'POST', body: new URLSearchParams({ password: 'another horse staple' }) })
  expect((await use()).status).toBe(200)
  expect((await use()).status).toBe(404)
  const logIn = async (given: string) => (await post(`${test.baseUrl}/session`, { email: 'ann@people.example', password: given })).status
  expect([await logIn(password), await logIn('another horse staple')]).toEqual([401, 200])
})

test('a mail that cannot be delivered while its link works is given up', async () => {
  const busy = await startFakeMx({ host: '127.0.3.9', on: { rcpt: () => '451 4.7.1 Greylisted' } })
  onTestFinished(() => busy.close())
  const test = await startTestRelay({ delivery_port: String(busy.port) }, { 'people.example': { a: ['127.0.3.9'] } })
  onTestFinished(() => test.stop())
  await addUser(test, 'ann@people.example')
  await post(`${test.baseUrl}/session/password/reset`, { email: 'ann@people.example' })
  const { db } = test.relay.services
  const states = async () => (await db.read<{ state: string }>('select state from recipient')).map(({ state }) => state)
  await expect.poll(states).toEqual(['deferred'])
  test.clock.advance(31 * 60_000)
  await expect.poll(states).toEqual(['bounced'])
})

test('where no mail may leave the machine, the answer says who can help', async () => {
  const test = await startTestRelay({ mode: 'sandbox' })
  onTestFinished(() => test.stop())
  const answer = await post(`${test.baseUrl}/session/password/reset`, { email: 'ann@people.example' })
  expect([answer.status, await answer.json()]).toEqual([409, expect.objectContaining({ name: 'invalid_state' })])
})

test('each change to how a user logs in is told by mail, with when, from where and by what', async () => {
  const inbox = await startFakeMx({ host: '127.0.3.9' })
  onTestFinished(() => inbox.close())
  const settings = { delivery_port: String(inbox.port), base_url: 'https://mail.example.com' }
  const test = await startTestRelay(settings, { 'people.example': { a: ['127.0.3.9'] } })
  onTestFinished(() => test.stop())
  await addUser(test, 'ann@people.example')
  const agent = { 'user-agent': 'Firefox/140 <b>\u00ad' }
  const entered = await post(`${test.baseUrl}/session`, { email: 'ann@people.example', password }, agent)
  const cookie = entered.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ')
  const changed = await post(`${test.baseUrl}/session/password`, { password, new_password: 'another horse staple' }, { cookie, ...agent })
  expect(changed.status).toBe(200)
  await expect.poll(() => inbox.messages.length).toBe(1)
  const mail = await simpleParser(inbox.messages[0]?.data ?? '')
  expect([mail.subject, mail.headers.get('auto-submitted')]).toEqual(['Your password was changed at mail.example.com', 'auto-generated'])
  const html = String(mail.html).replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
  for (const shown of [mail.text, html]) {
    expect(shown).toContain('For ann@people.example at https://mail.example.com, the password was changed.')
    expect(shown).toMatch(/That was on \d{4}-\d\d-\d\d at \d\d:\d\d UTC, from the address 127\.0\.0\.1, with Firefox\/140 <b>/)
    expect(shown).toContain('If it was not, ask for a new password at https://mail.example.com')
  }
  expect(mail.html).not.toContain('<b>')

  const own = changed.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ')
  const { people } = test.relay.services
  const begun = await post(`${test.baseUrl}/session/totp`, { password: 'another horse staple' }, { cookie: own })
  const { secret } = (await begun.json()) as { secret: string }
  const code = totpCode(fromBase32(secret), totpStepAt(test.clock.now()))
  expect((await post(`${test.baseUrl}/session/totp/confirm`, { code }, { cookie: own })).status).toBe(200)
  expect((await post(`${test.baseUrl}/session/totp/remove`, { password: 'another horse staple' }, { cookie: own })).status).toBe(200)
  const [user] = people.users.withEmail('ann@people.example')
  const token = people.resets.tokenFor(user!)
  const used = await fetch(`${test.baseUrl}/reset/${token}`, {
    method: 'POST',
    body: new URLSearchParams({ password: 'a third horse staple' }),
  })
  expect(used.status).toBe(200)
  await expect.poll(() => inbox.messages.length).toBe(4)
  const subjects = await Promise.all(inbox.messages.map(async ({ data }) => (await simpleParser(data)).subject))
  expect(subjects.slice(1).toSorted()).toEqual([
    'A second factor was turned on at mail.example.com',
    'Your password was changed at mail.example.com',
    'Your second factor was removed at mail.example.com',
  ])
})
