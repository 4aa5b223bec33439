import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx, type FakeMx, type FakeMxOptions } from '../support/fake-mx.ts'
import type { FakeZone } from '../support/fake-dns.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { passTime, startTwoNodes } from '../support/two-nodes.ts'

async function fakeMx(host: string, options: FakeMxOptions = {}): Promise<FakeMx> {
  const mx = await startFakeMx({ host, ...options })
  onTestFinished(() => mx.close())
  return mx
}

/** One domain at Google, one at Microsoft, one of its own. */
const zoneOf = ({ host }: FakeMx): FakeZone => ({
  'corp.example': { mx: [[10, 'aspmx.l.google.com']] },
  'aspmx.l.google.com': { a: [host] },
  'home.example': { mx: [[10, 'home-example.mail.protection.outlook.com']] },
  'home-example.mail.protection.outlook.com': { a: [host] },
  'rcpt.example': { a: [host] },
})

interface Routed {
  relay: TestRelay
  /** As the operator. */
  operate(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>
  addSmarthost(name: string, mx: FakeMx, more?: object): Promise<void>
  addRoute(route: object): Promise<string>
  /** Sends it, and waits for its end. */
  statusAfter(to: string, from?: string): Promise<string | undefined>
}

async function start(settings: Record<string, string>, zone: FakeZone): Promise<Routed> {
  const relay = await startTestRelay(settings, zone)
  onTestFinished(() => relay.stop())
  const { accounts, apiKeys } = relay.relay.services
  const { token } = await apiKeys.create({ accountId: accounts.getAccount('test').id, name: 'operator', permission: 'operator' })
  const operate: Routed['operate'] = (method, path, body) => relay.call(method, path, body, { authorization: `Bearer ${token}` })
  return {
    relay,
    operate,
    async addSmarthost(name, { host, port }, more = {}) {
      expect(await operate('POST', '/api/smarthosts', { name, host, port, ...more })).toMatchObject({ status: 201 })
    },
    async addRoute(route) {
      const made = await operate('POST', '/api/routes', route)
      expect(made).toMatchObject({ status: 201, body: { object: 'route' } })
      return made.body.id
    },
    async statusAfter(to, from = 'app@sender.example') {
      const id = await relay.send(to, { from })
      await expect.poll(async () => (await relay.recipients(id))[to]?.status).toMatch(/sent|delivered|bounced/)
      return (await relay.recipients(id))[to]?.status
    },
  }
}

const rcpts = ({ messages }: FakeMx): string[] => messages.flatMap(({ rcptTo }) => rcptTo)

test('mail for a provider goes by the smarthost of its route, and the rest to the MX hosts', async () => {
  const mx = await fakeMx('127.0.5.1')
  const smarthost = await fakeMx('127.0.5.2')
  const { relay, operate, addSmarthost, addRoute, statusAfter } = await start({ delivery_port: String(mx.port) }, zoneOf(mx))
  await addSmarthost('backup', smarthost)
  const id = await addRoute({ provider: 'google', via: 'backup' })

  expect(await statusAfter('ann@corp.example')).toBe('sent')
  expect(await statusAfter('ann@home.example')).toBe('delivered')
  expect(await statusAfter('ann@rcpt.example')).toBe('delivered')
  expect(rcpts(smarthost)).toEqual(['ann@corp.example'])
  expect(rcpts(mx)).toEqual(['ann@home.example', 'ann@rcpt.example'])
  // Bounces come to us.
  expect(smarthost.messages[0]?.mailFrom).toMatch(/^b\w+@relay\.example$/)

  const explained = async (to: string) => (await operate('GET', `/api/routes/explain?from=app@sender.example&to=${to}`)).body
  expect(await explained('ann@corp.example')).toMatchObject({
    via: 'backup',
    provider: 'google',
    route_id: id,
    smarthost: { host: '127.0.5.2', port: smarthost.port },
    reason: `The route ${id} is the first that matches: provider google.`,
    routes: [{ id, via: 'backup', unmet: [] }],
  })
  expect(await explained('ann@rcpt.example')).toMatchObject({
    via: 'direct',
    provider: null,
    route_id: null,
    smarthost: null,
    reason: 'No route matches this mail, and delivery.smarthost is not set.',
    routes: [{ id, via: 'backup', unmet: ['provider'] }],
  })
  const address = async (to: string) => (await operate('GET', `/api/explain?to=${to}`)).body.route
  expect(await address('ann@corp.example')).toMatchObject({ via_smarthost: true, route_id: id, depends_on_sender: false })
  expect(await address('ann@rcpt.example')).toMatchObject({ via_smarthost: false, route_id: null })
  expect(relay.relay.services.health.faults).toEqual([])
})

test('the most specific route wins, and a change counts for the next email', async () => {
  const mx = await fakeMx('127.0.5.1')
  const [usual, ours, theirs] = [await fakeMx('127.0.5.3'), await fakeMx('127.0.5.4'), await fakeMx('127.0.5.5')]
  const settings = { delivery_port: String(mx.port), delivery_smarthost: `127.0.5.3:${usual.port}` }
  const { operate, addSmarthost, addRoute, statusAfter } = await start(settings, zoneOf(mx))
  await addSmarthost('ours', ours)
  await addSmarthost('theirs', theirs)
  expect(await statusAfter('1@corp.example')).toBe('sent')
  await addRoute({ account_id: 'test', via: 'ours' })
  await statusAfter('2@corp.example')
  await addRoute({ sending_domain: 'sender.example', via: 'theirs' })
  await statusAfter('3@corp.example')
  await addRoute({ account_id: 'test', provider: 'google', via: 'ours' })
  await statusAfter('4@corp.example')
  const last = await addRoute({ recipient_domain: 'corp.example', via: 'direct' })
  expect(await statusAfter('5@corp.example')).toBe('delivered')
  await operate('PATCH', `/api/routes/${last}`, { via: 'theirs' })
  await statusAfter('6@corp.example')
  await operate('DELETE', `/api/routes/${last}`)
  await statusAfter('7@corp.example')
  expect(
    [usual, ours, theirs, mx].map((host) =>
      rcpts(host)
        .map((to) => to[0])
        .join(''),
    ),
  ).toEqual(['1', '247', '36', '5'])
})

test('what cannot be is refused, and changes nothing', async () => {
  const mx = await fakeMx('127.0.5.1')
  const { operate, addSmarthost, addRoute } = await start({}, {})
  await addSmarthost('backup', mx, { login: { user: 'relay', password: 's3cret' } })
  expect((await operate('GET', '/api/smarthosts/backup')).body).toMatchObject({ login: { user: 'relay' }, tls: 'starttls', verify: true })
  expect(JSON.stringify((await operate('GET', '/api/smarthosts')).body)).not.toContain('s3cret')
  const route = await addRoute({ provider: 'google', via: 'backup' })
  const refusals = [
    await operate('POST', '/api/smarthosts', { name: 'backup', host: 'other.example' }),
    await operate('POST', '/api/smarthosts', { name: 'direct', host: 'other.example' }),
    await operate('DELETE', '/api/smarthosts/backup'),
    await operate('POST', '/api/routes', { provider: 'google', via: 'direct' }),
    await operate('POST', '/api/routes', { provider: 'gogle', via: 'direct' }),
    await operate('POST', '/api/routes', { via: 'nowhere' }),
    await operate('PATCH', `/api/routes/${route}`, { via: 'nowhere' }),
    await operate('POST', '/api/routes', { account_id: 'nobody', via: 'direct' }),
  ]
  expect(refusals.map(({ status, body }) => `${status} ${body.message}`)).toEqual([
    '409 There is a smarthost backup already. Change it, or choose another name.',
    expect.stringMatching(/^4\d\d .*must not be direct/),
    '409 Routes name the smarthost backup. Remove or change them first.',
    '409 There is a route for the same mail already. Change where that leads, or remove it.',
    expect.stringMatching(/^4\d\d .*not one of config\/providers\.json/),
    '404 There is no smarthost nowhere. Add it first, or write direct.',
    '404 There is no smarthost nowhere. Add it first, or write direct.',
    expect.stringMatching(/^404 /),
  ])
  expect((await operate('GET', '/api/routes')).body.data).toMatchObject([{ id: route, via: 'backup' }])
})

test('a smarthost that refuses the login holds up its own mail only, until it is corrected', async () => {
  const mx = await fakeMx('127.0.5.1')
  const right = `AUTH PLAIN ${Buffer.from('\0relay\0right').toString('base64')}`
  const smarthost = await fakeMx('127.0.5.2', {
    extensions: ['AUTH PLAIN CRAM-MD5'],
    on: { auth: (line) => (line === 'AUTH CRAM-MD5' ? '334 PDE+' : line === right ? '235 ok' : '535 5.7.8 Wrong') },
  })
  const { relay, operate, addSmarthost, addRoute, statusAfter } = await start({ delivery_port: String(mx.port) }, zoneOf(mx))
  await addSmarthost('backup', smarthost, {
    tls: 'opportunistic',
    sender: 'relay@box.example',
    login: { user: 'relay', password: 'wrong' },
  })
  const id = await addRoute({ sending_domain: 'sender.example', recipient_domain: 'corp.example', via: 'backup' })
  const email = await relay.send('ann@corp.example')
  const recipient = async () => (await relay.recipients(email))['ann@corp.example']
  await expect.poll(async () => (await recipient())?.last_response).toMatch(/the login with CRAM-MD5 was refused: 535/)
  expect(relay.relay.services.health.faults).toMatchObject([
    { name: 'smarthost_refuses', message: expect.stringContaining('backup: the login') },
  ])
  expect(await statusAfter('ann@home.example')).toBe('delivered')
  // Another one without a login, under the same name.
  await operate('PATCH', '/api/smarthosts/backup', { login: null })
  relay.clock.advance(600_000)
  await expect.poll(async () => (await recipient())?.status).toBe('sent')
  expect(smarthost.messages).toMatchObject([{ mailFrom: 'relay@box.example', rcptTo: ['ann@corp.example'] }])
  expect(relay.relay.services.health.faults).toEqual([])
  await operate('DELETE', `/api/routes/${id}`)
  expect(await operate('DELETE', '/api/smarthosts/backup')).toMatchObject({ status: 200 })
})

/** A host that takes any login. */
const loginHost = (host: string) =>
  fakeMx(host, { extensions: ['AUTH CRAM-MD5'], on: { auth: (line) => (line === 'AUTH CRAM-MD5' ? '334 PDE+' : '235 ok') } })
const loginOf = ({ commands }: FakeMx['sessions'][number]): boolean => commands.some((command) => command.startsWith('AUTH'))

test('a smarthost that is removed and added again under its name is another one', async () => {
  const smarthost = await loginHost('127.0.5.2')
  const { operate, addSmarthost, addRoute, statusAfter } = await start({}, {})
  const login = { user: 'relay', password: 's3cret' }
  for (const more of [{ login }, { login: null }]) {
    await addSmarthost('backup', smarthost, { tls: 'opportunistic', ...more })
    const id = await addRoute({ via: 'backup' })
    expect(await statusAfter('ann@corp.example')).toBe('sent')
    await operate('DELETE', `/api/routes/${id}`)
    expect(await operate('DELETE', '/api/smarthosts/backup')).toMatchObject({ status: 200 })
  }
  expect(smarthost.sessions.map(loginOf)).toEqual([true, false])
})

test('direct mail leaves over no connection that is logged in', async () => {
  const mx = await loginHost('127.0.5.1')
  const settings = {
    delivery_port: String(mx.port),
    delivery_smarthost: `rcpt.example:${mx.port}`,
    delivery_smarthost_tls: 'opportunistic',
    delivery_smarthost_user: 'relay',
    delivery_smarthost_password: 's3cret',
  }
  const { addRoute, statusAfter } = await start(settings, zoneOf(mx))
  await addRoute({ recipient_domain: 'rcpt.example', via: 'direct' })
  expect(await statusAfter('ann@corp.example')).toBe('sent')
  expect(await statusAfter('ann@rcpt.example')).toBe('delivered')
  expect(mx.sessions.map(loginOf)).toEqual([true, false])
})

test('while the smarthost of one account is down, mail of another for the same domain goes on', async () => {
  const mx = await fakeMx('127.0.5.1')
  const gone = await fakeMx('127.0.5.6')
  await gone.close()
  const { relay, addSmarthost, addRoute, statusAfter } = await start({ delivery_port: String(mx.port) }, zoneOf(mx))
  const { sendingDomains, accounts } = relay.relay.services
  const domain = await sendingDomains.add(accounts.getAccount('test').id, 'other.example')
  await sendingDomains.verifyManually(domain.id)
  await addSmarthost('gone', gone)
  await addRoute({ sending_domain: 'other.example', via: 'gone' })
  // So many that the host is known to be down.
  const ids = await Promise.all(Array.from({ length: 6 }, (_, i) => relay.send(`${i}@corp.example`, { from: 'app@other.example' })))
  const attempted = async (id: string, i: number) => (await relay.recipients(id))[`${i}@corp.example`]?.attempts
  for (const [i, id] of ids.entries()) await expect.poll(() => attempted(id, i)).toBe(1)
  expect(await statusAfter('bob@corp.example')).toBe('delivered')
})

test('what one node is told of routes holds at the other', async () => {
  const mx = await fakeMx('127.0.5.1')
  const smarthost = await fakeMx('127.0.5.2')
  const { a, b } = await startTwoNodes({ delivery_port: String(mx.port) }, zoneOf(mx))
  const { accounts, apiKeys, sendingDomains } = a.relay.services
  const { id: accountId } = await accounts.create('shop', 'enterprise')
  await sendingDomains.verifyManually((await sendingDomains.add(accountId, 'sender.example')).id)
  const { token } = await apiKeys.create({ accountId, name: 'shop', permission: 'operator' })
  const { host, port } = smarthost
  expect((await a.call('POST', '/api/smarthosts', { token, body: { name: 'backup', host, port } })).status).toBe(201)
  expect((await a.call('POST', '/api/routes', { token, body: { provider: 'google', via: 'backup' } })).status).toBe(201)
  await passTime(1_000, a, b)
  await b.relay.services.changes.caughtUp()
  const { token: sending } = await apiKeys.create({ accountId, name: 'sending', permission: 'full_access' })
  const body = { from: 'app@sender.example', to: 'ann@corp.example', subject: 'Hi', text: 'Hi' }
  expect((await b.call('POST', '/api/send', { token: sending, body })).status).toBe(200)
  await smarthost.waitForMessages(1)
  expect(rcpts(mx)).toEqual([])
})
