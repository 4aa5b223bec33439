import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { timeOfId } from '../../src/platform/id.ts'
import { mailQuota } from '../../src/senders/account/account-policy.ts'
import { startFakeMx, type MxHooks } from '../support/fake-mx.ts'
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts'
import { settableClock } from '../support/settable-clock.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { startTwoNodes, type TestNode } from '../support/two-nodes.ts'

/** Nodes whose machines' clocks are wrong, over a database that has the right one. */
let postgres: PostgresServer

beforeAll(() => void (postgres = startPostgres()))
afterAll(() => postgres?.stop())

const minute = 60_000
const hour = 60 * minute
/** Late enough for a clock that is an hour ahead to be at the next day. */
const evening = Date.UTC(2026, 10, 28, 23, 30)

/** A database on a server whose clock can be set: it finds this function before its own. */
async function settableDatabase() {
  const url = await postgres.newUrl()
  const name = new URL(url.replace('@/', '@host/')).pathname.slice(1)
  const run = (script: string): Promise<string> => postgres.run(`\\c ${name}\n${script}`)
  await run(`
    create table clock_shift (ms bigint not null);
    insert into clock_shift values (0);
    create function public.clock_timestamp() returns timestamptz language sql volatile as
      $$ select pg_catalog.clock_timestamp() + (select ms from public.clock_shift) * interval '1 millisecond' $$;
    alter database ${name} set search_path = public, pg_catalog;`)
  return {
    url,
    run,
    setTime: (at: number) => run(`update clock_shift set ms = floor(${at} - extract(epoch from pg_catalog.clock_timestamp()) * 1000)`),
    now: async () => Number(await run('select floor(extract(epoch from clock_timestamp()) * 1000)')),
  }
}

async function mailHost(hooks: MxHooks = {}) {
  const host = '127.0.3.8'
  const mx = await startFakeMx({ host, on: hooks })
  onTestFinished(() => mx.close())
  const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } }
  return { mx, zone: zone as never }
}

/** Two nodes, one an hour behind and one an hour ahead of the database, with a domain and a key that may use it. */
async function start(hooks: MxHooks = {}) {
  const database = await settableDatabase()
  await database.setTime(evening)
  const { mx, zone } = await mailHost(hooks)
  const settings = { delivery_port: String(mx.port), store_url: database.url }
  const { a, b } = await startTwoNodes(settings, zone, { a: evening - hour, b: evening + hour })
  const { accounts, apiKeys, sendingDomains } = a.relay.services
  const account = await accounts.create('shop', 'enterprise')
  const domain = await sendingDomains.add(account.id, 'sender.example')
  await sendingDomains.verifyManually(domain.id)
  const { token } = await apiKeys.create({ accountId: account.id, name: 'shop', permission: 'full_access' })
  await b.relay.services.changes.caughtUp()
  return { database, mx, a, b, account, token }
}

const mail = { from: 'app@sender.example', to: 'bob@rcpt.example', subject: 'Hello', text: 'Hello' }
const statusAt = async (node: TestNode, id: string, token: string): Promise<string> =>
  (await node.call('GET', `/api/emails/${id}`, { token })).body.recipients[0].status

/** Waits until a node goes by a time that the database has been set to. */
const reaches = (node: TestNode, at: number) => expect.poll(() => node.relay.services.clock.now()).toBeGreaterThanOrEqual(at)

test('what is deferred at one node is due by the clock of the database, and tried then', async () => {
  let isWilling = false
  const { database, mx, a, b, token } = await start({ rcpt: () => (isWilling ? undefined : '450 4.2.0 later') })
  const sent = await Promise.all([a, b].map((node) => node.call('POST', '/api/send', { token, body: mail })))
  const ids = sent.map(({ body }) => body.id as string)
  for (const id of ids) await expect.poll(() => statusAt(a, id, token)).toBe('deferred')
  const due = (await a.relay.services.db.read('select due_at from recipient order by due_at')).map((row) => Number(row['due_at']))
  const now = await database.now()
  for (const at of due) expect(at - now).toBeGreaterThan(-minute)
  for (const at of due) expect(at - now).toBeLessThan(30 * minute)
  expect(mx.messages).toEqual([])
  isWilling = true
  await database.setTime(Math.max(...due))
  for (const id of ids) await expect.poll(() => statusAt(b, id, token)).toBe('delivered')
})

test('what lasts for a time lasts as long at every node: previews, links for another password, sessions, invitations', async () => {
  const { database, a, b, account, token } = await start()
  const invite = (node: TestNode, email: string) =>
    node.relay.services.people.users.invite({ accountId: account.id, email, role: 'owner', operator: false })
  const accepted = async (node: TestNode, link: string) => {
    await node.relay.services.changes.caughtUp()
    const { users } = node.relay.services.people
    const { id } = await users.takeInvitation(link, 'correct horse battery staple')
    return users.get(id)
  }
  const nodes: [TestNode, TestNode][] = [
    [a, b],
    [b, a],
  ]
  const links: [TestNode, string][] = []
  for (const [place, [here, there]] of nodes.entries()) {
    const user = await accepted(there, (await invite(here, `ann${place}@shop.example`)).token)
    const { resets, sessions } = here.relay.services.people
    const { secret } = await sessions.begin(user, { address: '192.0.2.1', userAgent: 'Test' })
    expect((await there.relay.services.people.sessions.find(secret))?.user.id).toBe(user.id)
    const link = resets.tokenFor(user)
    expect(there.relay.services.people.resets.userOf(link).id).toBe(user.id)
    links.push([there, link])
    const { body } = await here.call('POST', '/api/previews', { token, body: { html: '<p>Hi</p>' } })
    const expiresIn = Date.parse(body.expires_at) - (await database.now())
    expect(expiresIn).toBeGreaterThan(0)
    expect(expiresIn).toBeLessThanOrEqual(minute)
    expect((await fetch(there.baseUrl + body.url)).status).toBe(200)
  }
  await database.setTime(evening + 32 * minute)
  for (const [node, link] of links) {
    await reaches(node, evening + 32 * minute)
    expect(() => node.relay.services.people.resets.userOf(link)).toThrow('has expired')
  }
})

test('no row has a time by a clock of a machine', async () => {
  const { database, a, b, token } = await start()
  for (const node of [a, b]) {
    const { body } = await node.call('POST', '/api/send', { token, body: mail })
    await expect.poll(() => statusAt(node, body.id, token)).toBe('delivered')
    await node.call('POST', '/api/webhooks', { token, body: { url: 'https://app.example/hook' } })
    await node.call('POST', '/api/api-keys', { token, body: { name: 'new', permission: 'full_access' } })
    await node.call('POST', '/api/templates', { token, body: { name: 'hello', subject: 'Hi', html: 'one' } })
    await node.call('POST', '/api/suppressions', { token, body: { email: `eve@${node.baseUrl.length}.example` } })
  }
  const times = await database.run(`
    select format('select %L, %I from %I where %I is not null;', table_name || '.' || column_name, column_name, table_name, column_name)
      from information_schema.columns
     where table_schema = 'public' and data_type = 'bigint' and column_name like '%\\_at' \\gexec`)
  const found = times
    .split('\n')
    .filter((line) => line.includes('|'))
    .map((line) => line.split('|') as [string, string])
  const wrong = found.filter(([, at]) => [-hour, hour].some((by) => Math.abs(Number(at) - evening - by) < 20 * minute))
  expect(found.length).toBeGreaterThan(20)
  expect(wrong).toEqual([])
  const ids = (await a.relay.services.db.read<{ id: string }>('select id from event order by id')).map(({ id }) => timeOfId(id))
  expect(ids.length).toBeGreaterThan(4)
  for (const at of ids) expect(Math.abs(at - evening)).toBeLessThan(20 * minute)
})

test('the day of a quota changes once, for all nodes', async () => {
  const { database, a, b, account, token } = await start()
  await a.relay.services.policies.change(mailQuota, account.id, { day: 4 })
  await b.relay.services.changes.caughtUp()
  const send = (node: TestNode) => node.call('POST', '/api/send', { token, body: mail }).then(({ status }) => status)
  expect([await send(a), await send(b), await send(a), await send(b)]).toEqual([200, 200, 200, 200])
  expect([await send(a), await send(b)]).toEqual([429, 429])
  const morning = evening + 31 * minute
  await database.setTime(morning)
  for (const node of [a, b]) await reaches(node, morning)
  expect([await send(a), await send(b), await send(b), await send(a)]).toEqual([200, 200, 200, 200])
  expect([await send(a), await send(b)]).toEqual([429, 429])
})

test('a node is told of the clock of its machine, and starts with a wrong one without making anything due', async () => {
  const database = await settableDatabase()
  await database.setTime(evening)
  const { mx, zone } = await mailHost({ rcpt: () => '450 4.2.0 later' })
  const machine = settableClock(evening)
  const relay = await startTestRelay({ delivery_port: String(mx.port), store_url: database.url }, zone, { clock: machine })
  onTestFinished(() => relay.stop())
  const id = await relay.send('bob@rcpt.example')
  const state = async () => (await relay.relay.services.db.read('select due_at, attempts, owner from recipient'))[0]
  await expect.poll(state).toMatchObject({ attempts: 1, owner: null })
  const before = await state()
  const faults = () => relay.relay.services.health.faults.map(({ name }) => name)
  expect(faults()).toEqual([])
  for (const hours of [-1, 2]) {
    machine.correct(hours * hour)
    await expect.poll(faults).toEqual(['clock'])
    await relay.restart()
    expect(faults()).toEqual(['clock'])
    expect(await state()).toEqual(before)
  }
  machine.correct(-hour)
  await expect.poll(faults).toEqual([])
  expect((await relay.recipients(id))['bob@rcpt.example']).toMatchObject({ status: 'deferred', attempts: 1 })
})
