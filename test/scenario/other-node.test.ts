import { expect, test } from 'vitest'
import { authenticator } from '../support/authenticator.ts'
import { startPeopleApi, type PeopleApi } from '../support/people-api.ts'

const minute = 60_000
const hour = 60 * minute

/** Two nodes over one database. */
async function twoNodes(): Promise<{ a: PeopleApi; b: PeopleApi }> {
  const a = await startPeopleApi()
  return { a, b: await startPeopleApi(undefined, null, a.db) }
}

const tokenAt = async (node: PeopleApi, cookie: string): Promise<string> =>
  String((await node.request('POST', '/session/token', { headers: { cookie } })).body['token'])
const statusOf = async (node: PeopleApi, token: string): Promise<number> => (await node.request('GET', '/api/account', { token })).status
const cookieStatus = async (node: PeopleApi, cookie: string): Promise<number> =>
  (await node.request('GET', '/session', { headers: { cookie } })).status

test('whoever logs in at one node is logged in at the other, with the cookie and with the tokens', async () => {
  const { a, b } = await twoNodes()
  const { email, password, id } = await a.addUser()
  await b.accounts.load()
  const { cookie } = await a.login(email, password)
  const ofA = await tokenAt(a, cookie)
  const ofB = await tokenAt(b, cookie)
  const [byA, byB] = await Promise.all([a, b].map((node) => Promise.all([ofA, ofB].map((token) => statusOf(node, token)))))
  expect([byA, byB]).toEqual([
    [200, 200],
    [200, 200],
  ])
  expect(await b.people.sessions.list(id)).toHaveLength(1)
})

test('a node asks the database also for a session that it holds as over, because another node has seen it since', async () => {
  const { a, b } = await twoNodes()
  const { email, password } = await a.addUser()
  const { cookie } = await a.login(email, password)
  await b.people.users.load()
  await b.people.sessions.load()
  for (const hours of [20, 20]) {
    for (const { clock } of [a, b]) clock.correct(hours * hour)
    expect(await statusOf(a, await tokenAt(a, cookie))).toBe(200)
  }
  expect(await cookieStatus(b, cookie)).toBe(200)
  for (const { clock } of [a, b]) clock.correct(25 * hour)
  expect([await cookieStatus(a, cookie), await cookieStatus(b, cookie)]).toEqual([401, 401])
})

test('what ends all sessions of a user ends also those that other nodes have begun', async () => {
  const { a, b } = await twoNodes()
  const { id, email, password } = await a.addUser()
  const begun = await a.login(email, password)
  const token = await tokenAt(a, begun.cookie)
  await b.people.sessions.endAll(id)
  expect(await a.db.read('select id from user_session')).toEqual([])
  expect([await cookieStatus(b, begun.cookie), await statusOf(b, token)]).toEqual([401, 401])
})

test('nobody has more than twenty sessions over all nodes', async () => {
  const { a, b } = await twoNodes()
  const { id } = await a.addUser()
  await b.people.users.load()
  const client = { address: '192.0.2.1', userAgent: 'test' }
  for (let count = 0; count < 12; count++) {
    for (const { people } of [a, b]) await people.sessions.begin(people.users.get(id), client)
  }
  expect(await a.db.read('select id from user_session')).toHaveLength(20)
})

test('an answer to a challenge for a passkey counts once, at whichever node', async () => {
  const { a, b } = await twoNodes()
  const { email, password } = await a.addUser()
  await b.people.users.load()
  const device = authenticator('https://mail.example.com')
  const headers = { cookie: (await a.login(email, password)).cookie }
  const { options } = (await a.request('POST', '/session/passkeys/options', { headers, body: { password } })).body as any
  const made = await b.request('POST', '/session/passkeys', {
    headers,
    body: { name: 'Laptop', credential: device.create(options, { counter: 0 }) },
  })
  expect(made.status).toBe(201)

  const asked = await a.request('POST', '/session/passkey/options')
  const cookie = asked.headers.get('set-cookie')?.split(';')[0] ?? ''
  // Such a device counts no signatures, so only the challenge tells that the answer was seen before.
  const credential = device.get(asked.body['options'] as any, { counter: 0 })
  const show = (node: PeopleApi) => node.request('POST', '/session/passkey', { headers: { cookie }, body: { credential } })
  expect([(await show(b)).status, (await show(a)).status, (await show(b)).status]).toEqual([200, 401, 401])
})

test('the newest set-up link works once, at whichever node', async () => {
  const { a, b } = await twoNodes()
  await a.accounts.create('default', 'free')
  await b.accounts.load()
  const older = await a.people.setupLink.renew()
  const newer = await b.people.setupLink.renew()
  const open = async (node: PeopleApi, token: string | null) => (await fetch(`${node.url}/setup/${token}`)).status
  expect([await open(a, older), await open(b, older), await open(a, newer), await open(b, newer)]).toEqual([404, 404, 200, 200])
  const body = new URLSearchParams({ email: 'ann@example.com', password: 'correct horse battery' })
  const use = async (node: PeopleApi) => (await fetch(`${node.url}/setup/${newer}`, { method: 'POST', body })).status
  expect([await use(a), await use(b)]).toEqual([200, 404])
})
