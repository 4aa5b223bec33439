import { expect, onTestFinished, test } from 'vitest'
import { harmLimits } from '../../src/senders/account/account-policy.ts'
import type { Services } from '../../src/server/relay/services.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { lookForHarm } from '../support/look-for-harm.ts'
import { composeComplaint, returnMail } from '../support/returned-mail.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { passTime, startTwoNodes } from '../support/two-nodes.ts'

const [hour, day] = [3_600_000, 86_400_000]
const gone = (address: string) => (address.startsWith('gone') ? '550 5.1.1 no such user' : undefined)

/** A relay on which few failures are many, and a host where addresses that begin with `gone` do not exist. */
async function start(settings: Record<string, string> = {}) {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  mx.on = { rcpt: gone }
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    {
      delivery_port: String(mx.port),
      harm_bounces_from: '3',
      harm_complaints_from: '2',
      operator_email: 'ops@operator.example',
      return_path_messages_per_minute: '0',
      ...settings,
    },
    { 'rcpt.example': { a: ['127.0.0.2'] }, 'operator.example': { a: ['127.0.0.2'] }, 'user.example': { a: ['127.0.0.2'] } },
  )
  onTestFinished(() => relay.stop())
  const { accounts, apiKeys } = relay.relay.services
  const { id } = accounts.getAccount('test')
  const host = await accounts.create('host', 'free')
  const { token: operator } = await apiKeys.create({ accountId: host.id, name: 'operator', permission: 'operator' })
  const account = async () => (await relay.call('GET', '/api/account')).body
  const sends = async (to: string, status: string, fields = {}): Promise<string> => {
    const email = await relay.send(to, fields)
    await expect.poll(async () => (await relay.recipients(email))[to]?.status).toBe(status)
    return email
  }
  const many = async (name: string, count: number, status: string) => {
    for (let place = 0; place < count; place++) await sends(`${name}${place}@rcpt.example`, status)
  }
  const mailTo = (address: string): string[] =>
    mx.messages.filter(({ rcptTo }) => rcptTo[0] === address).map(({ data }) => data.toString('utf8').replace(/=\r?\n/g, ''))
  const look = () => lookForHarm(relay.relay)
  const change = (status: string) => relay.call('PATCH', `/api/accounts/${id}`, { status }, { authorization: `Bearer ${operator}` })
  const resume = () => change('active')
  const refused = (to = 'ann@rcpt.example') =>
    relay.call('POST', '/api/send', { from: 'app@sender.example', to, subject: 'Hello', html: '<p>Hello</p>' })
  return { mx, relay, id, account, sends, many, mailTo, look, change, resume, refused }
}

test('an account is slowed and then suspended by hard bounces, all are told, and an operator resumes it', async () => {
  const { mx, relay, id, account, sends, many, mailTo, look, resume, refused } = await start({ harm_slowed_per_minute: '2' })
  const { users } = relay.relay.services.people
  await users
    .invite({ accountId: id, email: 'ann@user.example', role: 'owner', operator: false })
    .then(({ token }) => users.takeInvitation(token, 'a long and good password'))
  await many('fine', 37, 'delivered')
  await many('gone', 3, 'bounced')
  await look()
  const slowedUntil = new Date(relay.clock.now() + day).toISOString()
  const reason = 'Of 40 recipients in 24 hours, 3 hard bounced (7.50 %); the limit is 5 %.'
  expect(await account()).toMatchObject({ status: 'active', slowed_until: slowedUntil, harm: reason })
  await expect.poll(() => mailTo('ops@operator.example')).toEqual([expect.stringContaining(reason)])
  await expect.poll(() => mailTo('ann@user.example')).toEqual([expect.stringContaining('2 recipients a minute')])

  await many('slow', 2, 'delivered')
  expect(await refused()).toMatchObject({
    status: 429,
    body: { name: 'rate_limit_exceeded', message: expect.stringContaining(slowedUntil) },
  })
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  for (const line of ['MAIL FROM:<app@sender.example>', 'RCPT TO:<ann@rcpt.example>', 'DATA']) await client.command(line)
  const { code, lines } = await client.command('From: app@sender.example\r\n\r\nHello\r\n.')
  expect([code, lines.join(' ')]).toEqual([451, expect.stringContaining('remove such addresses')])
  await look()
  expect(mailTo('ops@operator.example')).toHaveLength(1)

  mx.on = { rcpt: (address) => gone(address) ?? (address.startsWith('late') ? '451 4.3.0 later' : undefined) }
  await relay.relay.services.policies.change(harmLimits, id, { slowedPerMinute: 1000 })
  const sendsAgain = () => (relay.clock.advance(20_000), refused('slow2@rcpt.example'))
  // Of several nodes each hears later that the limit is another.
  await expect.poll(async () => (await sendsAgain()).status).toBe(200)
  const late = await sends('late@rcpt.example', 'deferred')
  const scheduled = await relay.send('then@rcpt.example', { scheduled_at: new Date(relay.clock.now() + hour).toISOString() })
  await sends('gone8@rcpt.example', 'bounced')
  await sends('gone9@rcpt.example', 'bounced')
  await look()
  expect((await account()).status).toBe('suspended')
  expect(await refused()).toMatchObject({
    status: 403,
    body: { name: 'account_suspended', message: expect.stringContaining('5 hard bounced') },
  })
  await expect.poll(() => mailTo('ops@operator.example')).toHaveLength(2)
  expect(mailTo('ops@operator.example')[1]).toContain(`sterna account resume ${id}`)

  mx.on = {}
  relay.clock.advance(2 * hour)
  const held = () => relay.relay.services.db.read<{ forward_path: string }>('select forward_path from recipient where held = 3 order by id')
  await expect.poll(held).toHaveLength(2)
  await relay.restart()
  relay.clock.advance(3 * day)
  expect((await account()).status).toBe('suspended')
  expect(await held()).toHaveLength(2)
  expect((await resume()).body).toMatchObject({ status: 'active', slowed_until: null, harm: null })
  for (const email of [late, scheduled])
    await expect.poll(async () => Object.values(await relay.recipients(email))[0]?.status).toBe('delivered')
  await look()
  expect((await account()).status).toBe('active')
})

test('what was held goes on even if the server did not run when its account was resumed, or could not free it', async () => {
  const { mx, relay, id, account, sends, many, look } = await start()
  const isDelivered = (email: string) => expect.poll(async () => Object.values(await relay.recipients(email))[0]?.status).toBe('delivered')
  const services = () => relay.relay.services as unknown as Services
  mx.on = { rcpt: (address) => gone(address) ?? '451 4.3.0 later' }
  const first = await sends('ann@rcpt.example', 'deferred')
  await many('gone', 3, 'bounced')
  await look()
  expect((await account()).status).toBe('suspended')
  mx.on = {}
  relay.clock.advance(2 * hour)
  await expect.poll(() => relay.relay.services.db.read('select id from recipient where held = 3')).toHaveLength(1)
  // As a command does it while the server does not run.
  await services().db.write([{ sql: "update account set status = 'active', harm = null where id = :id", params: { id } }])
  await relay.restart()
  await isDelivered(first)

  mx.on = { rcpt: () => '451 4.3.0 later' }
  const second = await sends('bob@rcpt.example', 'deferred')
  const { db, queue } = services()
  await db.write([{ sql: 'update recipient set held = 3 where message_id = :second', params: { second } }])
  mx.on = {}
  relay.clock.advance(2 * hour)
  await queue.freeHeld()
  await isDelivered(second)
})

test('complaints count if a token proves them, and one recipient or domain once; forged ones suspend nobody', async () => {
  const { mx, relay, account, sends, many, look } = await start()
  await many('reader', 3, 'delivered')
  await sends('ann@user.example', 'delivered')
  const report = (text: string) => returnMail(relay.returnPathPort, 'fbl@relay.example', [text])
  const [first, second, third, fourth] = mx.messages.map(({ data }) => data.toString('utf8'))
  const forged = (first ?? '').replace(/\b[a-z0-9]{20,}\b/gi, (token) => token.replaceAll(/[a-f]/g, 'z'))
  for (let times = 0; times < 5; times++) await report(composeComplaint({ original: forged }))
  for (let times = 0; times < 3; times++) await report(composeComplaint({ original: first ?? '' }))
  const harm = () => relay.relay.services.db.read('select address from account_harm')
  await expect.poll(harm).toHaveLength(1)
  await expect.poll(() => relay.relay.services.db.read("select id from returned_mail where state = 'done'")).toHaveLength(8)
  await look()
  expect(await account()).toMatchObject({ status: 'active', slowed_until: null })
  // Three of one domain, whose owner may be the only one to read them.
  for (const original of [second ?? '', third ?? '']) await report(composeComplaint({ original }))
  await expect.poll(harm).toHaveLength(3)
  await look()
  expect(await account()).toMatchObject({ status: 'active', slowed_until: null })
  await report(composeComplaint({ original: fourth ?? '' }))
  await expect.poll(harm).toHaveLength(4)
  await look()
  expect(await account()).toMatchObject({ status: 'suspended', harm: expect.stringContaining('2 complained (50.00 %)') })
})

test('who erases the addresses that bounced does not get around the limits', async () => {
  const { relay, account, many, look } = await start()
  await many('gone', 3, 'bounced')
  const erase = async (email: string) => {
    const { body } = await relay.call('POST', '/api/erasures', { email })
    await expect.poll(async () => (await relay.call('GET', `/api/erasures/${body.id}`)).body.status).toBe('done')
  }
  for (let place = 0; place < 3; place++) await erase(`gone${place}@rcpt.example`)
  const kept = await relay.relay.services.db.read<{ address: string }>('select address from account_harm')
  expect(kept.map(({ address }) => address.replace(/^[0-9a-f]{40}@/, ''))).toEqual(Array(3).fill('erased.invalid'))
  // Once more, after a new bounce.
  await relay.relay.services.db.write([
    {
      sql: `insert into account_harm (account_id, kind, address, happened_at)
            select account_id, kind, 'gone0@rcpt.example', happened_at from account_harm limit 1`,
      params: {},
    },
  ])
  await erase('gone0@rcpt.example')
  expect(await relay.relay.services.db.read('select address from account_harm')).toHaveLength(3)
  await look()
  expect(await account()).toMatchObject({ status: 'suspended', harm: expect.stringContaining('3 hard bounced') })
})

test('what blames this server counts against nobody, and what came long ago no more', async () => {
  const { mx, relay, account, many, look } = await start()
  await many('gone', 3, 'bounced')
  // The host has nothing more after that.
  mx.on = { rcpt: () => '550 5.7.1 Service unavailable; client host [192.0.2.1] blocked using zen.spamhaus.org' }
  await many('blocked', 1, 'bounced')
  expect(await relay.relay.services.db.read('select address from account_harm')).toHaveLength(3)
  relay.clock.advance(day + 1)
  await look()
  expect(await account()).toMatchObject({ status: 'active', slowed_until: null, harm: null })
  expect(await relay.relay.services.db.read('select address from account_harm')).toEqual([])
})

test('mail counts from when it was first tried: what comes back a day later, or was held for so long, suspends nobody', async () => {
  const { mx, relay, id, account, many, look, resume } = await start()
  const { accounts, db } = relay.relay.services
  const inState = (state: string) => db.read('select id from recipient where state = :state', { state })
  await many('reader', 4, 'delivered')
  mx.on = { rcpt: (address) => (address.startsWith('gone') ? '451 4.3.0 later' : undefined) }
  await many('gone', 3, 'deferred')
  await accounts.restrain(accounts.getAccount(id), { slowedUntil: null, harm: 'Too many bounced.' }, [])
  relay.clock.advance(day + hour)
  await expect.poll(() => db.read('select id from recipient where held = 3')).toHaveLength(3)
  mx.on = { rcpt: gone }
  await resume()
  await expect.poll(() => inState('bounced')).toHaveLength(3)
  for (const { data } of mx.messages.slice(0, 3))
    await returnMail(relay.returnPathPort, 'fbl@relay.example', [composeComplaint({ original: data.toString('utf8') })])
  await expect.poll(() => inState('complained')).toHaveLength(3)
  await look()
  expect(await account()).toMatchObject({ status: 'active', slowed_until: null, harm: null })
})

test('an account that was slowed, and that its operator suspends, is told no reason, and its queued mail goes out', async () => {
  const { mx, relay, id, account, sends, refused, change } = await start()
  const { accounts } = relay.relay.services
  const slow = () => accounts.restrain(accounts.getAccount(id), { slowedUntil: relay.clock.now() + day, harm: 'Too many bounced.' }, [])
  await slow()
  expect(await account()).toMatchObject({ harm: 'Too many bounced.' })
  relay.clock.advance(day)
  expect(await account()).toMatchObject({ status: 'active', slowed_until: null, harm: null })
  await slow()
  mx.on = { rcpt: () => '451 4.3.0 later' }
  const email = await sends('ann@rcpt.example', 'deferred')
  expect((await change('suspended')).body).toMatchObject({ status: 'suspended', slowed_until: null, harm: null })
  expect((await refused()).body.message).toBe('This account is suspended and cannot send. Ask the operator of this server.')
  mx.on = {}
  relay.clock.advance(2 * hour)
  await expect.poll(async () => (await relay.recipients(email))['ann@rcpt.example']?.status).toBe('delivered')
})

test('an account has limits of its own, and 0 means none', async () => {
  const { relay, id, account, many, look } = await start()
  await relay.relay.services.policies.change(harmLimits, id, { bouncesSlow: 0, bouncesSuspend: 0 })
  await many('gone', 3, 'bounced')
  await look()
  expect(await account()).toMatchObject({ status: 'active', harm: null })
  await relay.relay.services.policies.change(harmLimits, id, { bouncesSuspend: null })
  await look()
  expect((await account()).status).toBe('suspended')
})

test('two nodes keep what one has decided', async () => {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  mx.on = { rcpt: gone }
  onTestFinished(() => mx.close())
  const { a, b } = await startTwoNodes({ delivery_port: String(mx.port), harm_bounces_from: '2' }, { 'rcpt.example': { a: ['127.0.0.2'] } })
  const { accounts, apiKeys, sendingDomains, db } = a.relay.services
  const account = await accounts.create('shop', 'enterprise')
  const { token } = await apiKeys.create({ accountId: account.id, name: 'shop', permission: 'full_access' })
  const domain = await sendingDomains.add(account.id, 'sender.example')
  await sendingDomains.verifyManually(domain.id)
  await b.relay.services.changes.caughtUp()
  await passTime(1_000, a, b)
  const send = (node: typeof a, to: string) =>
    node.call('POST', '/api/send', { token, body: { from: 'app@sender.example', to, subject: 'Hi', text: 'Hi' } })
  for (const [place, node] of [a, b].entries()) await send(node, `gone${place}@rcpt.example`)
  await expect.poll(() => db.read('select address from account_harm')).toHaveLength(2)
  const looked = Promise.all([lookForHarm(a.relay), lookForHarm(b.relay)])
  let isDone = false
  void looked.finally(() => (isDone = true))
  while (!isDone) await passTime(1_000, a, b)
  await looked
  await passTime(1_000, a, b)
  expect(await db.read("select id from audit where operation = 'accounts.suspended'")).toHaveLength(1)
  for (const node of [a, b]) expect((await send(node, 'ann@rcpt.example')).body.name).toBe('account_suspended')
})
