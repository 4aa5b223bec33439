import { expect, test } from 'vitest'
import { PasswordHasher } from '../../../src/senders/account/password-hash.ts'
import { Sessions } from '../../../src/senders/account/sessions.ts'
import { totpCode, totpStepAt } from '../../../src/senders/account/totp.ts'
import { fromBase32 } from '../../support/base32.ts'
import { startPeopleApi, type PeopleApi } from '../../support/people-api.ts'

const dataOf = (answer: { body: Record<string, unknown> }) => answer.body['data'] as Record<string, unknown>[]

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

test('a login gives a cookie that only /session takes, and a token that only the API takes', async () => {
  const api = await startPeopleApi()
  const { email, password, id } = await api.addUser()
  const login = await api.login(email.toUpperCase(), password)
  expect(login).toMatchObject({ status: 200, body: { object: 'session', user: { id, email, role: 'owner' } } })
  expect(login.headers.get('set-cookie')).toMatch(
    /^__Host-sterna_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure, __Host-sterna_device=/,
  )
  expect(login.headers.get('cache-control')).toBe('no-store')
  const headers = { cookie: login.cookie }
  expect(await api.request('GET', '/api/account', { headers })).toMatchObject({ status: 401, body: { name: 'missing_api_key' } })
  const { body: exchanged } = await api.request('POST', '/session/token', { headers })
  expect(exchanged).toMatchObject({ sandbox: false, expires_at: new Date(api.clock.now() + 15 * minute).toISOString() })
  const token = String(exchanged['token'])
  expect(await api.request('GET', '/api/account', { token })).toMatchObject({ status: 200, body: { name: 'acme' } })
  expect(await api.request('GET', '/session', { token })).toMatchObject({ status: 401, body: { name: 'invalid_session' } })
  api.clock.advance(15 * minute)
  expect(await api.request('GET', '/api/account', { token })).toMatchObject({ status: 401, body: { name: 'invalid_session' } })
  const lastLogin = new Date(api.clock.now() - 15 * minute).toISOString()
  const current = await api.request('GET', '/session', { headers })
  expect(current).toMatchObject({ status: 200, body: { id: login.body['id'], user: { last_login_at: lastLogin } } })
})

test('with an http base_url the cookie works without TLS', async () => {
  const api = await startPeopleApi('http://192.0.2.1:8080')
  const { email, password } = await api.addUser()
  expect((await api.login(email, password)).headers.get('set-cookie')).toMatch(
    /^sterna_session=[\w-]{43}; Path=\/session; HttpOnly; SameSite=Strict, sterna_device=/,
  )
})

test('a session ends after a day without use, and after thirty in any case; its tokens end with it', async () => {
  const api = await startPeopleApi()
  const { email, password } = await api.addUser()
  const headers = { cookie: (await api.login(email, password)).cookie }
  const exchange = () => api.request('POST', '/session/token', { headers })
  for (let days = 0; days < 29; days++) {
    api.clock.advance(day - 1)
    expect((await exchange()).status).toBe(200)
  }
  api.clock.advance(day - 1)
  const { body: last } = await exchange()
  expect(Date.parse(String(last['expires_at']))).toBeLessThan(api.clock.now() + minute)
  api.clock.advance(minute)
  expect(await exchange()).toMatchObject({ status: 401, body: { name: 'invalid_session' } })
  expect(await api.request('GET', '/api/account', { token: String(last['token']) })).toMatchObject({ status: 401 })
  await api.people.sessions.sweep()
  expect(await api.db.read('select id from user_session')).toEqual([])
  const idle = { cookie: (await api.login(email, password)).cookie }
  api.clock.advance(day)
  expect(await api.request('GET', '/session', { headers: idle })).toMatchObject({ status: 401 })
})

test('a login never takes over a session that the browser brought along', async () => {
  const api = await startPeopleApi()
  const { email, password } = await api.addUser()
  const planted = { cookie: `__Host-sterna_session=${'a'.repeat(43)}` }
  const first = await api.request('POST', '/session', { body: { email, password }, headers: planted })
  expect(first.headers.get('set-cookie')).not.toContain('aaaa')
  const cookie = first.headers.get('set-cookie')?.split(';')[0] ?? ''
  const second = await api.request('POST', '/session', { body: { email, password }, headers: { cookie } })
  expect(second.headers.get('set-cookie')).not.toContain(cookie)
  expect(await api.request('GET', '/session', { headers: { cookie } })).toMatchObject({ status: 401 })
  expect(await api.request('GET', '/session', { headers: planted })).toMatchObject({ status: 401 })
})

test('a logout kills the tokens of the session at once, and of no other', async () => {
  const api = await startPeopleApi()
  const { email, password } = await api.addUser()
  const cookies = [await api.login(email, password), await api.login(email, password)].map(({ cookie }) => cookie)
  const tokens = await Promise.all(
    cookies.map(async (cookie) => String((await api.request('POST', '/session/token', { headers: { cookie } })).body['token'])),
  )
  const [cookie = '', other = ''] = cookies
  const logout = await api.request('DELETE', '/session', { headers: { cookie } })
  expect(logout).toMatchObject({ status: 200, body: { deleted: true } })
  expect(logout.headers.get('set-cookie')).toContain('Max-Age=0')
  const statusOf = async (token?: string) => (await api.request('GET', '/api/account', { token: token ?? '' })).status
  expect([await statusOf(tokens[0]), await statusOf(tokens[1])]).toEqual([401, 200])
  expect(await api.request('POST', '/session/token', { headers: { cookie } })).toMatchObject({ status: 401 })
  const { body } = await api.request('GET', '/session/all', { headers: { cookie: other } })
  expect(body['data']).toMatchObject([{ current: true, address: '127.0.0.1' }])
})

test('a user lists and ends his own sessions, and no others', async () => {
  const api = await startPeopleApi()
  const [ann, bob] = [await api.addUser(), await api.addUser()]
  const here = { cookie: (await api.login(ann.email, ann.password)).cookie }
  const there = await api.login(ann.email, ann.password)
  const strange = await api.login(bob.email, bob.password)
  const { body } = await api.request('GET', '/session/all', { headers: here })
  expect(body['data']).toMatchObject([{ current: true }, { current: false, id: there.body['id'] }])
  expect(await api.request('DELETE', `/session/all/${String(strange.body['id'])}`, { headers: here })).toMatchObject({ status: 404 })
  expect(await api.request('DELETE', `/session/all/${String(there.body['id'])}`, { headers: here })).toMatchObject({ status: 200 })
  expect(await api.request('GET', '/session', { headers: { cookie: there.cookie } })).toMatchObject({ status: 401 })
  expect(await api.request('GET', '/session', { headers: { cookie: strange.cookie } })).toMatchObject({ status: 200 })
})

test.each([
  ['another site', { origin: 'https://evil.example' }, 403],
  ['another site that hides', { origin: 'null' }, 403],
  ['another port', { origin: 'https://mail.example.com:8443' }, 403],
  ['another scheme', { origin: 'http://mail.example.com' }, 403],
  ['a browser that tells of another site', { 'sec-fetch-site': 'cross-site' }, 403],
  ['a sister site', { 'sec-fetch-site': 'same-site', origin: 'https://mail.example.com' }, 403],
  ['a page of this server', { 'sec-fetch-site': 'same-origin', origin: 'https://mail.example.com' }, 200],
  ['no browser', {}, 200],
])('a request by %s', async (_, headers, status) => {
  const api = await startPeopleApi()
  const { email, password } = await api.addUser()
  const { cookie } = await api.login(email, password)
  const tried = [
    await api.request('POST', '/session', { body: { email, password }, headers }),
    await api.request('POST', '/session/token', { headers: { cookie, ...headers } }),
    await api.request('DELETE', '/session', { headers: { cookie, ...headers } }),
  ]
  expect(tried.map((answer) => answer.status)).toEqual([status, status, status])
  expect(tried[0]?.headers.get('access-control-allow-origin')).toBeNull()
})

test('a page that was loaded from the address itself may log in too', async () => {
  const api = await startPeopleApi('http://localhost:8080')
  const { email, password } = await api.addUser()
  expect(await api.request('POST', '/session', { body: { email, password }, headers: { origin: api.url } })).toMatchObject({ status: 200 })
})

test('unknown users, wrong passwords and open invitations are refused alike', async () => {
  const api = await startPeopleApi()
  const { email, accountId } = await api.addUser()
  await api.people.users.invite({ accountId, email: 'open@acme.example', role: 'member', operator: false })
  const refusals = []
  for (const who of [email, 'nobody@acme.example', 'open@acme.example', 'no address']) refusals.push(await api.login(who, 'wrong password'))
  expect(new Set(refusals.map(({ status, body }) => JSON.stringify([status, { ...body, request_id: null }]))).size).toBe(1)
  expect(refusals[0]).toMatchObject({ status: 401, body: { name: 'invalid_credentials' } })
})

test('after twenty failures an address, and a user, must wait, whether or not they come at once', async () => {
  const api = await startPeopleApi()
  const { email, password } = await api.addUser()
  const failures = []
  for (const atOnce of [8, 8, 6])
    failures.push(...(await Promise.all(Array.from({ length: atOnce }, () => api.login(email, 'wrong password')))))
  expect(failures.filter(({ status }) => status === 401)).toHaveLength(20)
  const refused = await api.login(email, password)
  expect(refused).toMatchObject({ status: 429, body: { name: 'rate_limit_exceeded' } })
  expect(refused.headers.get('retry-after')).toBe('900')
  api.clock.advance(900_000)
  expect((await api.login(email, password)).status).toBe(200)
})

test('whoever guesses a password shuts its user out neither of the session nor of the browser that logged in before', async () => {
  const api = await startPeopleApi()
  const { email, password } = await api.addUser()
  const login = await api.login(email, password)
  const headers = { cookie: login.cookie }
  const device = /__Host-sterna_device=[^;]+/.exec(login.headers.get('set-cookie') ?? '')?.[0] ?? ''
  for (let guesses = 0; guesses < 20; guesses++) await api.login(email, 'wrong password')
  expect((await api.login(email, password)).status).toBe(429)
  // In the session, where wrong passwords count by themselves.
  expect((await api.request('POST', '/session/totp', { headers, body: { password } })).status).toBe(200)
  const change = (old: string) =>
    api.request('POST', '/session/password', { headers, body: { password: old, new_password: 'another horse' } })
  for (let guesses = 0; guesses < 20; guesses++) expect((await change('wrong password')).status).toBe(401)
  expect((await change(password)).status).toBe(429)
  // In the browser, likewise.
  const known = (given: string, cookie = device) =>
    api.request('POST', '/session', { headers: { cookie }, body: { email, password: given } })
  expect((await known(password)).status).toBe(200)
  const other = await api.addUser()
  expect(
    (await api.request('POST', '/session', { headers: { cookie: device }, body: { email: other.email, password: other.password } })).status,
  ).toBe(429)
  expect((await known(password, `${device}x`)).status).toBe(429)
  for (let guesses = 0; guesses < 20; guesses++) expect((await known('wrong password')).status).toBe(401)
  expect((await known(password)).status).toBe(429)
  api.clock.advance(15 * minute)
  expect((await change(password)).status).toBe(200)
  for (let guesses = 0; guesses < 20; guesses++) await api.login(email, 'wrong password')
  // It is known by the password of its time, and for ninety days.
  expect((await known('another horse')).status).toBe(429)
})

test('a browser is known for ninety days, and a flood of strangers takes no place from who uses it', async () => {
  const api = await startPeopleApi()
  const { email, password } = await api.addUser()
  const login = await api.login(email, password)
  const cookie = /__Host-sterna_device=[^;]+/.exec(login.headers.get('set-cookie') ?? '')?.[0] ?? ''
  const known = async () => (await api.request('POST', '/session', { headers: { cookie }, body: { email, password } })).status
  const flood = Array.from({ length: 40 }, (_, number) => api.login(`user${number}@acme.example`, 'wrong password'))
  expect(await known()).toBe(200)
  const others = (await Promise.all(flood)).filter(({ status }) => ![401, 429, 503].includes(status))
  expect(others).toEqual([])
  api.clock.advance(90 * day - 1)
  for (let guesses = 0; guesses < 20; guesses++) await api.login(email, 'wrong password')
  expect(await known()).toBe(200)
  api.clock.advance(1)
  expect(await known()).toBe(429)
})

test('a second factor is asked for once it is confirmed; every code works once', async () => {
  const api = await startPeopleApi()
  const { email, password } = await api.addUser()
  const headers = { cookie: (await api.login(email, password)).cookie }
  const begin = (given: string) => api.request('POST', '/session/totp', { headers, body: { password: given } })
  expect(await begin('wrong password')).toMatchObject({ status: 401 })
  const { body } = await begin(password)
  expect((await api.login(email, password)).status).toBe(200)
  const secret = fromBase32(String(body['secret']))
  const codeNow = () => totpCode(secret, totpStepAt(api.clock.now()))
  expect(await api.request('POST', '/session/totp/confirm', { headers, body: { code: '000000' } })).toMatchObject({ status: 401 })
  const confirmed = await api.request('POST', '/session/totp/confirm', { headers, body: { code: codeNow() } })
  const codes = confirmed.body['recovery_codes'] as string[]
  expect(new Set(codes).size).toBe(10)

  expect(await api.login(email, password)).toMatchObject({ status: 401, body: { name: 'second_factor_required' } })
  expect(await api.login(email, password, codeNow())).toMatchObject({ status: 401, body: { name: 'invalid_credentials' } })
  api.clock.advance(30_000)
  const { id } = api.people.users.get(email)
  const both = await Promise.allSettled([codeNow(), codeNow()].map((code) => api.people.secondFactors.check(id, code)))
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  api.clock.advance(30_000)
  expect((await api.login(email, password, codeNow())).status).toBe(200)
  const [recovery = ''] = codes
  expect(await api.login(email, password, recovery.toUpperCase())).toMatchObject({ status: 200 })
  expect(await api.login(email, password, recovery)).toMatchObject({ status: 401 })
  expect(await api.login(email, 'wrong password', codes[1])).toMatchObject({ status: 401 })
  expect(await api.login(email, password, codes[1])).toMatchObject({ status: 200 })

  expect(await api.request('POST', '/session/totp/remove', { headers, body: { password } })).toMatchObject({
    status: 200,
    body: { second_factor: false },
  })
  expect((await api.login(email, password)).status).toBe(200)
})

test('a hash of former times is renewed at the next login', async () => {
  const api = await startPeopleApi()
  const { id, email } = await api.addUser()
  const shown = api.people.users.get(id).password
  await api.people.users.renewHash(id, await new PasswordHasher('scrypt').hash('correct horse'), { shown })
  expect((await api.login(email, 'correct horse')).status).toBe(200)
  const stored = api.people.users.get(id).password ?? ''
  expect(await api.people.passwords.verify('correct horse', stored)).toBe(true)
  expect(api.people.passwords.isOutdated(stored)).toBe(false)
  await api.people.users.load()
  expect((await api.login(email, 'correct horse')).status).toBe(200)
})

test('an address with an international domain is the same in either form', async () => {
  const api = await startPeopleApi()
  const { password } = await api.addUser({ email: 'Ann@b\u00fccher.example' })
  expect((await api.login('ann@xn--bcher-kva.example', password)).status).toBe(200)
  expect((await api.login('ANN@B\u00dcCHER.example', password)).status).toBe(200)
})

test('a new password ends all sessions, and gives the browser that set it a new one', async () => {
  const api = await startPeopleApi()
  const { email, password } = await api.addUser()
  const here = { cookie: (await api.login(email, password)).cookie }
  const there = { cookie: (await api.login(email, password)).cookie }
  const change = (body: object) => api.request('POST', '/session/password', { headers: here, body })
  expect(await change({ password: 'wrong password', new_password: 'correct horse' })).toMatchObject({ status: 401 })
  expect(await change({ password, new_password: 'short' })).toMatchObject({ status: 422 })
  const changed = await change({ password, new_password: 'correct horse' })
  expect(changed.status).toBe(200)
  const anew = { cookie: changed.headers.get('set-cookie')?.split(';')[0] ?? '' }
  const statuses = [anew, here, there].map(async (headers) => (await api.request('GET', '/session', { headers })).status)
  expect(await Promise.all(statuses)).toEqual([200, 401, 401])
  expect(await api.db.read('select id from user_session')).toHaveLength(1)
  expect([(await api.login(email, password)).status, (await api.login(email, 'correct horse')).status]).toEqual([401, 200])
})

/** The ways to a new password, each given a user who is logged in. */
const newPasswords: Record<
  string,
  (api: PeopleApi, user: { id: string; email: string; password: string; cookie: string }) => Promise<number>
> = {
  'the page of the user': async (api, { password, cookie }) =>
    (await api.request('POST', '/session/password', { headers: { cookie }, body: { password, new_password: 'another horse' } })).status,
  'the link for a forgotten one': async (api, { id }) => {
    const path = `/reset/${api.people.resets.tokenFor(api.people.users.get(id))}`
    return (await fetch(api.url + path, { method: 'POST', body: new URLSearchParams({ password: 'another horse' }) })).status
  },
}

test.each(Object.entries(newPasswords))('an invitation that was not used dies with a new password by %s', async (_, renew) => {
  const api = await startPeopleApi()
  const user = await api.addUser()
  const { cookie } = await api.login(user.email, user.password)
  const { token } = await api.people.users.inviteAgain(user.id)
  const take = () => fetch(`${api.url}/invite/${token}`, { method: 'POST', body: new URLSearchParams({ password: 'a finder of links' }) })
  // The same password hashed anew is no new one.
  const shown = api.people.users.get(user.id).password
  await api.people.users.renewHash(user.id, await new PasswordHasher('scrypt').hash(user.password), { shown })
  expect((await api.login(user.email, user.password)).status).toBe(200)
  expect((await fetch(`${api.url}/invite/${token}`)).status).toBe(200)
  expect(await renew(api, { ...user, cookie })).toBe(200)
  expect([(await fetch(`${api.url}/invite/${token}`)).status, (await take()).status]).toEqual([404, 404])
  await api.people.users.load()
  expect((await take()).status).toBe(404)
  expect((await api.login(user.email, 'another horse')).status).toBe(200)
})

test.each(Object.entries(newPasswords))('no second factor whose setup was under way survives a new password by %s', async (_, renew) => {
  const api = await startPeopleApi()
  const user = await api.addUser()
  const { cookie } = await api.login(user.email, user.password)
  const { body } = await api.request('POST', '/session/totp', { headers: { cookie }, body: { password: user.password } })
  expect(await renew(api, { ...user, cookie })).toBe(200)
  const headers = { cookie: (await api.login(user.email, 'another horse')).cookie }
  const code = totpCode(fromBase32(String(body['secret'])), totpStepAt(api.clock.now()))
  expect(await api.request('POST', '/session/totp/confirm', { headers, body: { code } })).toMatchObject({ status: 409 })
})

test('a token from before a start in sandbox mode lets no mail out', async () => {
  const api = await startPeopleApi()
  const token = await api.tokenOf()
  const restarted = new Sessions({ ...api, users: api.people.users, sandboxOnly: true })
  await restarted.load()
  expect([api.people.sessions.holderOf(token).sandbox, restarted.holderOf(token).sandbox]).toEqual([false, true])
})

test('a user has at most twenty sessions: one more ends the one that has rested longest, with its tokens', async () => {
  const api = await startPeopleApi()
  const { id, email, password } = await api.addUser({ role: 'viewer' })
  const other = await api.addUser()
  await api.login(other.email, other.password)
  const exchange = async (cookie: string) => String((await api.request('POST', '/session/token', { headers: { cookie } })).body['token'])
  const statusOf = async (token: string) => (await api.request('GET', '/api/account', { token })).status
  const client = { address: '192.0.2.1', userAgent: 'test' }
  const [first, second] = [await api.login(email, password), await api.login(email, password)]
  const [firstToken, secondToken] = [await exchange(first.cookie), await exchange(second.cookie)]
  for (let count = 0; count < 18; count++) await api.people.sessions.begin(api.people.users.get(id), client)
  expect([await statusOf(firstToken), await statusOf(secondToken)]).toEqual([200, 200])
  api.clock.advance(minute)
  await exchange(first.cookie)
  await api.login(email, password)
  expect([await statusOf(firstToken), await statusOf(secondToken)]).toEqual([200, 401])
  expect((await api.request('GET', '/session', { headers: { cookie: second.cookie } })).status).toBe(401)
  await Promise.all(Array.from({ length: 221 }, () => api.people.sessions.begin(api.people.users.get(id), client)))
  expect(await api.people.sessions.list(id)).toHaveLength(20)
  expect(await api.db.read('select id from user_session where user_id = :id', { id })).toHaveLength(20)
  expect(await api.people.sessions.list(other.id)).toHaveLength(1)
})

test('a login ends no session of its own, also if the clock was ahead during the others', async () => {
  const api = await startPeopleApi()
  const { id, email, password } = await api.addUser()
  const client = { address: '192.0.2.1', userAgent: 'test' }
  for (let count = 0; count < 20; count++) await api.people.sessions.begin(api.people.users.get(id), client)
  api.clock.correct(-10 * minute)
  const login = await api.login(email, password)
  expect((await api.request('GET', '/session', { headers: { cookie: login.cookie } })).status).toBe(200)
  expect(await api.people.sessions.list(id)).toHaveLength(20)
})

test('a token that was changed anywhere is refused', async () => {
  const api = await startPeopleApi()
  const token = await api.tokenOf({ role: 'viewer' })
  expect(api.sessions.holderOf(token)).toMatchObject({ sandbox: false })
  const beginning = 'sterna_session_'.length
  // Of the last letter, two bits say nothing.
  for (let place = beginning; place < token.length - 1; place++) {
    const changed = `${token.slice(0, place)}${token[place] === 'A' ? 'B' : 'A'}${token.slice(place + 1)}`
    expect(() => api.sessions.holderOf(changed)).toThrow(expect.objectContaining({ code: 'invalid_session' }))
  }
})

test('nobody who is not logged in makes the server read much', async () => {
  const api = await startPeopleApi()
  const answer = await api.request('POST', '/session', { body: { email: 'x'.repeat(20_000), password: 'x' } })
  expect(answer).toMatchObject({ status: 413, body: { name: 'payload_too_large' } })
})

test('an operator acts in another account with a token for it, which is on record there and ends with the right to it', async () => {
  const api = await startPeopleApi()
  const operator = await api.addUser({ operator: true, account: 'host' })
  await api.addUser({ operator: true, account: 'host' })
  const owner = await api.addUser({ account: 'shop' })
  const headers = { cookie: (await api.login(operator.email, operator.password)).cookie }
  const exchange = (body: object) => api.request('POST', '/session/token', { headers, body })
  expect((await exchange({})).body).toMatchObject({ account_id: operator.accountId })
  const { body } = await exchange({ account_id: owner.accountId })
  expect(body).toMatchObject({ account_id: owner.accountId, sandbox: false })
  const token = String(body['token'])
  const accountOf = async () => (await api.request('GET', '/api/account', { token })).body['name']
  expect(await accountOf()).toBe('shop')
  expect((await api.request('POST', '/api/api-keys', { token, body: { name: 'made for the shop' } })).status).toBe(201)
  const { cookie } = await api.login(owner.email, owner.password)
  const ownToken = String((await api.request('POST', '/session/token', { headers: { cookie } })).body['token'])
  const audit = await api.request('GET', '/api/audit', { token: ownToken })
  expect(dataOf(audit).map(({ action, actor }) => [action, (actor as { name: string }).name])).toEqual([
    ['session.create', owner.email],
    ['api_keys.create', operator.email],
    ['session.create_token', operator.email],
  ])
  // The account that one belongs to is not deleted from another one either.
  expect((await api.request('DELETE', `/api/accounts/${operator.accountId}`, { token })).status).toBe(409)
  expect((await exchange({ account_id: 'acc_none' })).status).toBe(404)
  await api.people.users.change(operator.id, { operator: false })
  expect(await api.request('GET', '/api/account', { token })).toMatchObject({ status: 401, body: { name: 'invalid_session' } })
  expect((await exchange({ account_id: owner.accountId })).status).toBe(404)
})

test('a token for an account that is removed ends with it', async () => {
  const api = await startPeopleApi()
  const operator = await api.addUser({ operator: true, account: 'host' })
  const { id } = await api.accounts.create('shop', 'free')
  const headers = { cookie: (await api.login(operator.email, operator.password)).cookie }
  const { body } = await api.request('POST', '/session/token', { headers, body: { account_id: id } })
  const own = String((await api.request('POST', '/session/token', { headers })).body['token'])
  expect((await api.request('DELETE', `/api/accounts/${id}`, { token: own })).status).toBe(200)
  expect((await api.request('GET', '/api/account', { token: String(body['token']) })).status).toBe(401)
})
