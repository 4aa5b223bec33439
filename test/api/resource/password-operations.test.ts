import { expect, test } from 'vitest'
import { totpCode, totpStepAt } from '../../../src/senders/account/totp.ts'
import { fromBase32 } from '../../support/base32.ts'
import { startPeopleApi, type PeopleApi } from '../../support/people-api.ts'

const minute = 60_000

const ask = (api: PeopleApi, email: string, headers: Record<string, string> = {}) =>
  api.request('POST', '/session/password/reset', { body: { email }, headers })

/** The path of the link in the newest mail. */
async function mailedPath(api: PeopleApi): Promise<string> {
  const mail = (await api.mails()).at(-1)
  return /https:\/\/mail\.example\.com(\/reset\/[\w.-]+)/.exec(String(mail?.parts[0]?.bytes))?.[1] ?? ''
}

const use = (api: PeopleApi, path: string, form: { password: string }, headers: Record<string, string> = {}) =>
  fetch(api.url + path, { method: 'POST', body: new URLSearchParams(form), headers, redirect: 'manual' })

async function startForgetful() {
  const api = await startPeopleApi('https://mail.example.com', '')
  const ann = await api.addUser()
  return { api, ann }
}

test('a forgotten password is replaced by the link in the mail, which works once and logs nobody in', async () => {
  const { api, ann } = await startForgetful()
  expect(await ask(api, ann.email.toUpperCase())).toMatchObject({ status: 202, body: { object: 'password_reset_request' } })
  const path = await mailedPath(api)
  const page = await fetch(api.url + path)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining(`readonly value="${ann.email}"`)])
  expect(page.headers.get('content-security-policy')).toMatch(/frame-ancestors 'none'/)
  const done = await use(api, path, { password: 'another horse staple' }, { accept: 'text/html' })
  expect([done.status, done.headers.get('location'), done.headers.get('set-cookie')]).toEqual([
    303,
    '/login',
    expect.stringMatching(/^__Host-sterna_device=[\w.-]+; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=7776000$/),
  ])
  expect((await api.login(ann.email, ann.password)).status).toBe(401)
  expect((await api.login(ann.email, 'another horse staple')).status).toBe(200)
  expect((await use(api, path, { password: 'a third horse battery' })).status).toBe(404)
  expect((await fetch(api.url + path)).status).toBe(404)
  expect(api.logged.join('\n')).not.toContain(path.slice('/reset/'.length))
})

test('of two who use a link at once, one sets the password', async () => {
  const { api, ann } = await startForgetful()
  await ask(api, ann.email)
  const path = await mailedPath(api)
  const answers = await Promise.all(['one horse staple', 'two horse staple'].map((password) => use(api, path, { password })))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404])
})

test('a link works for thirty minutes, whoever looks at it in between, and not after the password was changed otherwise', async () => {
  const { api, ann } = await startForgetful()
  await ask(api, ann.email)
  const early = await mailedPath(api)
  api.clock.advance(30 * minute - 1)
  for (let looks = 0; looks < 3; looks++) expect((await fetch(api.url + early)).status).toBe(200)
  api.clock.advance(1)
  expect((await use(api, early, { password: 'another horse staple' })).status).toBe(404)
  api.clock.advance(60 * minute)
  await ask(api, ann.email)
  const late = await mailedPath(api)
  const { cookie } = await api.login(ann.email, ann.password)
  const body = { password: ann.password, new_password: 'changed by herself' }
  expect((await api.request('POST', '/session/password', { headers: { cookie }, body })).status).toBe(200)
  expect((await use(api, late, { password: 'another horse staple' })).status).toBe(404)
})

test('no other token sets a password: changed, cut, of somebody else, or of a removed user', async () => {
  const { api, ann } = await startForgetful()
  const bob = await api.addUser()
  const token = api.people.resets.tokenFor(api.people.users.get(ann.id))
  const [id = '', time = '', mac = ''] = token.split('.')
  const forged = [
    [bob.id, time, mac].join('.'),
    [id, (Number.parseInt(time, 36) + minute).toString(36), mac].join('.'),
    [id, time, ''].join('.'),
    [id, time].join('.'),
    `${token}.`,
    `${id}.zzzzzzzzzzz.${mac}`,
    [id, time, `${mac.slice(0, -2)}${mac.endsWith('A') ? 'BB' : 'AA'}`].join('.'),
  ]
  for (const each of forged)
    expect([each, (await use(api, `/reset/${each}`, { password: 'another horse staple' })).status]).toEqual([each, 404])
  await api.people.users.invite({ accountId: ann.accountId, email: 'spare@acme.example', role: 'owner', operator: true })
  await api.people.users.change(bob.id, { role: 'owner', operator: true })
  await api.people.users.remove(ann.id)
  expect((await use(api, `/reset/${token}`, { password: 'another horse staple' })).status).toBe(404)
})

test('a new password ends every session and leaves the second factor', async () => {
  const { api, ann } = await startForgetful()
  const headers = { cookie: (await api.login(ann.email, ann.password)).cookie }
  const { body } = await api.request('POST', '/session/totp', { headers, body: { password: ann.password } })
  const secret = fromBase32(String(body['secret']))
  const codeNow = () => totpCode(secret, totpStepAt(api.clock.now()))
  await api.request('POST', '/session/totp/confirm', { headers, body: { code: codeNow() } })
  const token = String((await api.request('POST', '/session/token', { headers })).body['token'])
  await ask(api, ann.email)
  expect((await use(api, await mailedPath(api), { password: 'another horse staple' })).status).toBe(200)
  expect((await api.request('GET', '/session', { headers })).status).toBe(401)
  expect((await api.request('GET', '/api/account', { token })).status).toBe(401)
  expect(await api.login(ann.email, 'another horse staple')).toMatchObject({ status: 401, body: { name: 'second_factor_required' } })
  api.clock.advance(30_000)
  expect((await api.login(ann.email, 'another horse staple', codeNow())).status).toBe(200)
})

test('the answer is the same for every address, and only users with a password get mail', async () => {
  const { api, ann } = await startForgetful()
  await api.people.users.invite({ accountId: ann.accountId, email: 'open@acme.example', role: 'member', operator: false })
  const answers = []
  for (const email of [ann.email, 'nobody@acme.example', 'open@acme.example', 'no address']) answers.push(await ask(api, email))
  const shown = answers.map(({ status, text, headers }) => [status, text, [...headers.keys()].filter((name) => name !== 'date')])
  expect(new Set(shown.map((each) => JSON.stringify(each))).size).toBe(1)
  expect((await api.mails()).map(({ to }) => to)).toEqual([ann.email])
})

test('the link in the mail leads to base_url, whatever host the request named', async () => {
  const { api, ann } = await startForgetful()
  const headers = { 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example', 'x-original-host': 'evil.example' }
  await ask(api, ann.email, headers)
  const [mail] = await api.mails()
  const text = String(mail?.parts.map(({ bytes }) => String(bytes)).join('\n'))
  expect(new Set([...text.matchAll(/https?:\/\/([\w.:-]*\w)/g)].map(([, host]) => host))).toEqual(new Set(['mail.example.com']))
})

test('an address gets at most three mails an hour, known or not, and a network asks at most twenty times', async () => {
  const { api, ann } = await startForgetful()
  for (const email of [ann.email, 'nobody@acme.example']) {
    for (let asked = 0; asked < 3; asked++) expect((await ask(api, email)).status).toBe(202)
    const refused = await ask(api, email)
    expect(refused).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect(await api.mails()).toHaveLength(3)
  const others = await Promise.all(Array.from({ length: 20 }, (_, number) => ask(api, `user${number}@acme.example`)))
  expect(others.filter(({ status }) => status === 202)).toHaveLength(12)
  api.clock.advance(60 * minute)
  expect((await ask(api, ann.email)).status).toBe(202)
})

test('the page of another site cannot ask, nor set a password', async () => {
  const { api, ann } = await startForgetful()
  const foreign = { origin: 'https://evil.example' }
  expect(await ask(api, ann.email, foreign)).toMatchObject({ status: 403, body: { name: 'foreign_origin' } })
  expect(await api.mails()).toEqual([])
  await ask(api, ann.email)
  expect((await use(api, await mailedPath(api), { password: 'another horse staple' }, foreign)).status).toBe(403)
  expect((await api.login(ann.email, ann.password)).status).toBe(200)
})

test('the audit log tells who was sent a link, and who used it', async () => {
  const { api, ann } = await startForgetful()
  await ask(api, ann.email)
  await use(api, await mailedPath(api), { password: 'another horse staple' })
  const rows = await api.audit.page({}, { after: null, before: null, limit: 10 } as never)
  expect(rows.map(({ operation, object_id: id, actor_type: actor, address }) => [operation, id, actor, address])).toEqual([
    ['reset.use', ann.id, 'user', '127.0.0.1'],
    ['session.request_password_reset', ann.id, 'server', '127.0.0.1'],
  ])
})
