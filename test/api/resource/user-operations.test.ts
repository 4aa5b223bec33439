import { expect, test } from 'vitest'
import { permissions, roles } from '../../../src/senders/account/permission.ts'
import type { ApiAnswer } from '../../support/api-server.ts'
import { startPeopleApi, type PeopleApi } from '../../support/people-api.ts'

const dataOf = (answer: { body: Record<string, unknown> }) => answer.body['data'] as Record<string, unknown>[]

/** What each holder may do: list keys (full_access), read the account (anybody), list users, list accounts (operator). */
const rights = { full: [200, 200, 403, 403], none: [403, 200, 403, 403], people: [200, 200, 200, 403], all: [200, 200, 200, 200] }
const routes = ['/api/api-keys', '/api/account', '/api/users', '/api/accounts']

test.each([
  ...roles.map((role) => [role, { role }, role === 'owner' || role === 'admin' ? rights.people : rights.none] as const),
  ['viewer who is an operator', { role: 'viewer', operator: true }, rights.all] as const,
])('a session of a %s', async (_, wanted, expected) => {
  const api = await startPeopleApi()
  const token = await api.tokenOf(wanted)
  expect(await Promise.all(routes.map(async (route) => (await api.request('GET', route, { token })).status))).toEqual(expected)
})

test.each(permissions)('a key with %s', async (permission) => {
  const api = await startPeopleApi()
  const token = await api.token({ permission })
  const expected = permission === 'operator' ? rights.all : permission === 'full_access' ? rights.full : rights.none
  expect(await Promise.all(routes.map(async (route) => (await api.request('GET', route, { token })).status))).toEqual(expected)
})

test('a session may be exchanged for the sandbox', async () => {
  const api = await startPeopleApi()
  const { email, password } = await api.addUser()
  const { cookie } = await api.login(email, password)
  const { body } = await api.request('POST', '/session/token', { headers: { cookie }, body: { sandbox: true } })
  expect(body['sandbox']).toBe(true)
  const made = await api.request('POST', '/api/api-keys', { token: String(body['token']), body: { name: 'x' } })
  expect(made.body['token']).toMatch(/^sterna_test_/)
})

test('an invited user sets a password by the link, once', async () => {
  const api = await startPeopleApi()
  const token = await api.tokenOf()
  const invited = await api.request('POST', '/api/users', { token, body: { email: 'Ann@Example.com', role: 'member' } })
  expect(invited).toMatchObject({ status: 201, body: { email: 'ann@example.com', role: 'member', status: 'invited', operator: false } })
  const link = String(invited.body['invitation_url'])
  expect(link).toMatch(/^https:\/\/mail\.example\.com\/invite\/[\w-]{43}$/)
  const path = new URL(link).pathname
  const page = await fetch(api.url + path)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('readonly value="ann@example.com"')])
  const post = () => fetch(api.url + path, { method: 'POST', body: new URLSearchParams({ password: 'correct horse' }) })
  const answers = await Promise.all([post(), post()])
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404])
  expect((await api.login('ann@example.com', 'correct horse')).status).toBe(200)
  expect(dataOf(await api.request('GET', '/api/users', { token }))).toMatchObject([
    { status: 'active', email: 'ann@example.com' },
    { role: 'owner' },
  ])
  expect(api.logged.join('\n')).not.toContain(path.slice(8))
})

test('an invitation is over after a week, and when there is a newer one', async () => {
  const api = await startPeopleApi()
  const token = await api.tokenOf()
  const { body } = await api.request('POST', '/api/users', { token, body: { email: 'ann@example.com', role: 'member' } })
  const statusOf = async (url: unknown) => (await fetch(api.url + new URL(String(url)).pathname)).status
  const again = await api.request('POST', `/api/users/${String(body['id'])}/invitation`, { token })
  expect([await statusOf(body['invitation_url']), await statusOf(again.body['invitation_url'])]).toEqual([404, 200])
  api.clock.advance(7 * 24 * 3_600_000)
  expect(await statusOf(again.body['invitation_url'])).toBe(404)
})

test('a new invitation lets somebody back in who has lost everything, and ends what was before', async () => {
  const api = await startPeopleApi()
  const lost = await api.addUser({ role: 'member' })
  const { cookie } = await api.login(lost.email, lost.password)
  const again = await api.request('POST', `/api/users/${lost.id}/invitation`, { token: await api.tokenOf() })
  expect((await api.login(lost.email, lost.password)).status).toBe(200)
  await fetch(api.url + new URL(String(again.body['invitation_url'])).pathname, {
    method: 'POST',
    body: new URLSearchParams({ password: 'correct horse' }),
  })
  expect((await api.request('GET', '/session', { headers: { cookie } })).status).toBe(401)
  expect([(await api.login(lost.email, lost.password)).status, (await api.login(lost.email, 'correct horse')).status]).toEqual([401, 200])
})

test('a change of role is effective with the next request, and a removal ends every session', async () => {
  const api = await startPeopleApi()
  const owner = await api.tokenOf()
  const { id, email, password } = await api.addUser({ role: 'admin' })
  const { cookie } = await api.login(email, password)
  const token = String((await api.request('POST', '/session/token', { headers: { cookie } })).body['token'])
  const statusNow = async () => (await api.request('GET', '/api/api-keys', { token })).status
  expect(await statusNow()).toBe(200)
  expect(await api.request('PATCH', `/api/users/${id}`, { token: owner, body: { role: 'viewer' } })).toMatchObject({
    status: 200,
    body: { role: 'viewer' },
  })
  expect(await statusNow()).toBe(403)
  expect(await api.request('DELETE', `/api/users/${id}`, { token: owner })).toMatchObject({ status: 200, body: { deleted: true } })
  expect(await statusNow()).toBe(401)
  expect((await api.request('GET', '/session', { headers: { cookie } })).status).toBe(401)
  expect((await api.login(email, password)).status).toBe(401)
})

test('there is always an owner of the account, and an operator of the server', async () => {
  const api = await startPeopleApi()
  const operator = await api.tokenOf({ role: 'viewer', operator: true, account: 'host' })
  const [first, second] = [await api.addUser(), await api.addUser()]
  await api.request('POST', '/api/users', {
    token: operator,
    body: { email: 'x@acme.example', role: 'owner', account_id: first.accountId },
  })
  const change = (id: string, body: object) => api.request('PATCH', `/api/users/${id}`, { token: operator, body })
  // Of two who go at once, one stays. Whoever has not taken the invitation is no owner yet.
  const both = await Promise.all([
    change(first.id, { role: 'admin' }),
    api.request('DELETE', `/api/users/${second.id}`, { token: operator }),
  ])
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409])
  expect(both.find(({ status }) => status === 409)?.body.name).toBe('invalid_state')
  const [self] = api.people.users.list(api.accounts.getAccount('host').id)
  expect(await change(self?.id ?? '', { operator: false })).toMatchObject({ status: 409 })
  expect(await change(self?.id ?? '', { role: 'member' })).toMatchObject({ status: 200, body: { operator: true } })
})

test('admins decide neither about owners nor about operators, and nobody about another account', async () => {
  const api = await startPeopleApi()
  const [owner, admin] = [await api.addUser(), await api.tokenOf({ role: 'admin' })]
  const stranger = await api.addUser({ account: 'other' })
  const call = (method: string, path: string, body?: object) =>
    api.request(method, `/api/users${path}`, { token: admin, ...(body ? { body } : {}) })
  expect(await call('POST', '', { email: 'a@x.example', role: 'owner' })).toMatchObject({ status: 403 })
  expect(await call('POST', '', { email: 'a@x.example', role: 'member', operator: true })).toMatchObject({ status: 403 })
  expect(await call('POST', '', { email: 'a@x.example', role: 'member', account_id: stranger.accountId })).toMatchObject({ status: 404 })
  expect(await call('PATCH', `/${owner.id}`, { role: 'viewer' })).toMatchObject({ status: 403 })
  expect(await call('POST', `/${owner.id}/invitation`)).toMatchObject({ status: 403 })
  for (const [method, path] of [
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/invitation'],
  ] as const) {
    expect(await call(method, `/${stranger.id}${path}`, method === 'PATCH' ? { role: 'viewer' } : undefined)).toMatchObject({ status: 404 })
  }
  expect(dataOf(await call('GET', `?account_id=${stranger.accountId}`))).toEqual([])
  expect(await call('POST', '', { email: owner.email, role: 'member' })).toMatchObject({ status: 409, body: { name: 'user_exists' } })
  expect(await call('POST', '', { email: 'no address', role: 'member' })).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'email' }] },
  })
})

/** The owner of an account, somebody with a user in another, and the user that the owner makes with the address of that one. */
async function inviteKnownAddress(api: PeopleApi) {
  const token = await api.tokenOf({ role: 'owner' })
  const bob = await api.addUser({ account: 'other', email: 'bob@shared.example' })
  const invite = (email: string) => api.request('POST', '/api/users', { token, body: { email, role: 'member' } })
  const take = async (invited: ApiAnswer, password: string) =>
    fetch(api.url + new URL(String(invited.body['invitation_url'])).pathname, { method: 'POST', body: new URLSearchParams({ password }) })
  return { bob, invite, take }
}

const accountOf = ({ body }: ApiAnswer) => (body['user'] as { account_id: string } | undefined)?.account_id

test('an invitation tells nothing of the users of other accounts, and makes nobody one of them', async () => {
  const api = await startPeopleApi()
  const { bob, invite, take } = await inviteKnownAddress(api)
  const answers = [await invite('BOB@shared.example'), await invite('nobody@shared.example')]
  const shown = answers.map(({ status, body }) => [status, Object.entries(body).map(([name, value]) => [name, typeof value])])
  expect(shown[0]).toEqual(shown[1])
  expect(shown[0]?.[0]).toBe(201)
  const [known] = answers
  expect((await invite(bob.email)).body['name']).toBe('user_exists')
  // The link makes a user of the account that invites.
  expect((await take(known!, 'of the inviter')).status).toBe(200)
  const inviting = accountOf(await api.login(bob.email, 'of the inviter'))
  expect(inviting).not.toBe(bob.accountId)
  expect(accountOf(await api.login(bob.email, bob.password))).toBe(bob.accountId)
  expect((await api.login(bob.email, 'of nobody at all')).status).toBe(401)
  // One hash is computed for both, so how long it takes tells nothing either.
  const salts = api.people.users.withEmail(bob.email).map(({ password }) => password?.split('$')[3])
  expect([salts.length, new Set(salts).size]).toEqual([2, 1])
  expect(() => api.people.users.get(bob.email)).toThrow(/Several accounts have a user/)
})

test('who has the same password in two accounts logs in to the last used, or says which', async () => {
  const api = await startPeopleApi()
  const { bob, invite, take } = await inviteKnownAddress(api)
  const invited = await invite(bob.email)
  expect((await take(invited, bob.password)).status).toBe(200)
  const inviting = String(invited.body['account_id'])
  api.clock.advance(1000)
  const logIn = async (accountId?: string) =>
    accountOf(await api.request('POST', '/session', { body: { email: bob.email, password: bob.password, account_id: accountId } }))
  expect(await logIn(bob.accountId)).toBe(bob.accountId)
  expect(await logIn()).toBe(bob.accountId)
  api.clock.advance(1000)
  expect([await logIn(inviting), await logIn()]).toEqual([inviting, inviting])
  expect(await logIn('acc_none')).toBeUndefined()
  // Whoever forgot it gets a link for each, which says for which account.
  await api.request('POST', '/session/password/reset', { body: { email: bob.email } })
  const mails = (await api.mails()).map(({ to, parts }) => [to, /in the account "(\w+)"/.exec(String(parts[0]?.bytes))?.[1]])
  expect(mails.toSorted()).toEqual([
    [bob.email, 'acme'],
    [bob.email, 'other'],
  ])
})

test('a device that is known to one account guesses no more about the user of another than a stranger', async () => {
  const api = await startPeopleApi()
  const { bob, invite, take } = await inviteKnownAddress(api)
  await take(await invite(bob.email), 'of the inviter')
  const login = await api.login(bob.email, 'of the inviter')
  const cookie = /__Host-sterna_device=[^;]+/.exec(login.headers.get('set-cookie') ?? '')?.[0] ?? ''
  const known = (password: string) => api.request('POST', '/session', { headers: { cookie }, body: { email: bob.email, password } })
  for (let guesses = 0; guesses < 19; guesses++) expect((await known('wrong password')).status).toBe(401)
  for (let guesses = 0; guesses < 20; guesses++) await api.login(bob.email, 'wrong password')
  // The last guess of the device is for its own user.
  expect((await known(bob.password)).status).toBe(401)
  expect((await known('of the inviter')).status).toBe(429)
})
