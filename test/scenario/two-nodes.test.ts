import { expect, onTestFinished, test } from 'vitest'
import { mailQuota, suppressionPolicy } from '../../src/senders/account/account-policy.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'
import { passTime, startTwoNodes, type TestNode } from '../support/two-nodes.ts'

const second = 1_000
const email = (from: string) => ({ from, to: 'bob@rcpt.example', subject: 'Hi', text: 'Hi' })

/** Two nodes that know one account, with a key of full access. */
async function start(settings: Record<string, string> = {}, zone = {}) {
  const { a, b } = await startTwoNodes(settings, zone)
  const { accounts, apiKeys } = a.relay.services
  const account = await accounts.create('shop', 'enterprise')
  const { id, token } = await apiKeys.create({ accountId: account.id, name: 'shop', permission: 'full_access' })
  await b.relay.services.changes.caughtUp()
  return { a, b, account, key: { id, token } }
}

/** Waits for what needs the other node to have read the changes, which it has not before its clock moves. */
async function onceSeen<T>(work: Promise<T>, { here, there }: { here: TestNode; there: TestNode }): Promise<T> {
  let isDone = false
  void work.finally(() => (isDone = true)).catch(() => {})
  // As long as it takes to do the same where nobody is waited for.
  await there.relay.services.db.slowRead('select 1')
  await here.relay.services.changes.caughtUp()
  expect(isDone).toBe(false)
  await expect
    .poll(async () => {
      await passTime(second, there, here)
      return isDone
    })
    .toBe(true)
  return work
}

test('what is made at one node works at the next request at the other: keys, domains, templates, users, webhooks', async () => {
  const { a, b, key } = await start()
  const made = await a.call('POST', '/api/api-keys', { ...key, body: { name: 'new', permission: 'full_access' } })
  const token: string = made.body.token
  expect(await b.call('GET', '/api/domains', { token })).toMatchObject({ status: 200, body: { data: [] } })

  const domain = await a.call('POST', '/api/domains', { token, body: { name: 'sender.example' } })
  expect((await b.call('GET', `/api/domains/${domain.body.id}`, { token })).status).toBe(200)
  expect((await b.call('POST', '/api/send', { token, body: email('app@sender.example') })).body.name).toBe('domain_not_verified')
  await a.relay.services.sendingDomains.verifyManually(domain.body.id)
  expect((await b.call('POST', '/api/send', { token, body: email('app@sender.example') })).status).toBe(200)

  const hook = await a.call('POST', '/api/webhooks', { token, body: { url: 'https://app.example/hook' } })
  expect((await b.call('GET', '/api/webhooks', { token })).body.data).toMatchObject([{ id: hook.body.id }])

  const template = await a.call('POST', '/api/templates', { token, body: { name: 'hello', alias: 'hello', subject: 'Hi', html: 'one' } })
  const publish = () => a.call('POST', `/api/templates/${template.body.id}/publish`, { token })
  const sent = async () => {
    const { live } = b.relay.services.templates
    return (await live.get(b.relay.services.accounts.getAccount('shop').id, 'hello')).template.html
  }
  await publish()
  expect(await sent()).toBe('one')
  await a.call('PATCH', `/api/templates/${template.body.id}`, { token, body: { html: 'two' } })
  await publish()
  b.clock.advance(second)
  await expect.poll(sent).toBe('two')
})

test('an invitation made at one node is accepted at the other, and the password works at both', async () => {
  const { a, b, account } = await start()
  const invited = await a.relay.services.people.users.invite({
    accountId: account.id,
    email: 'ann@shop.example',
    role: 'owner',
    operator: false,
  })
  const password = 'correct horse battery staple'
  const page = `${b.baseUrl}/invite/${invited.token}`
  expect(await (await fetch(page)).text()).toContain('ann@shop.example')
  const accept = fetch(page, { method: 'POST', body: new URLSearchParams({ password }) })
  expect((await onceSeen(accept, { here: b, there: a })).status).toBe(200)
  expect((await a.call('POST', '/session', { body: { email: 'ann@shop.example', password } })).status).toBeLessThan(300)
})

test('a key made at one node logs in over SMTP at the other at once', async () => {
  const { a, b, key } = await start()
  const { body } = await a.call('POST', '/api/api-keys', { ...key, body: { name: 'smtp', permission: 'sending_access' } })
  const client = await SmtpClient.logIn(b.submissionPort, body.token)
  expect((await client.command('MAIL FROM:<app@sender.example>')).code).toBe(250)
  const stranger = await SmtpClient.connect(b.submissionPort)
  await stranger.command('EHLO client.example')
  await stranger.command('STARTTLS')
  await stranger.startTls()
  expect((await stranger.login(`${key.token}x`)).code).toBe(535)
})

test('a key that is revoked or limited at one node is refused at the other as soon as that is answered', async () => {
  const { a, b, key } = await start()
  const { body } = await a.call('POST', '/api/api-keys', { ...key, body: { name: 'old', permission: 'full_access' } })
  const old = { token: body.token as string }
  expect((await b.call('GET', '/api/domains', old)).status).toBe(200)
  await onceSeen(a.relay.services.apiKeys.change(body.id, { permission: 'sending_access' }), { here: a, there: b })
  expect((await b.call('GET', '/api/domains', old)).status).toBe(403)
  const revoked = a.call('DELETE', `/api/api-keys/${body.id}`, key)
  expect((await onceSeen(revoked, { here: a, there: b })).status).toBe(200)
  expect((await b.call('GET', '/api/domains', old)).status).toBe(401)
})

test('an account that is suspended at one node while its plan changes at the other has both, and sends nowhere', async () => {
  const { a, b, account, key } = await start()
  const suspend = a.relay.services.accounts.change('shop', { status: 'suspended' })
  await b.relay.services.accounts.change('shop', { plan: 'pro' })
  await onceSeen(suspend, { here: a, there: b })
  await a.relay.services.changes.caughtUp()
  for (const { relay } of [a, b]) expect(relay.services.accounts.accountFor(account.id)).toMatchObject({ status: 'suspended', plan: 'pro' })
  for (const node of [a, b]) expect((await node.call('POST', '/api/send', { ...key, body: email('app@sender.example') })).status).toBe(403)
})

test('two nodes that change different fields of a policy, a domain, a webhook or a key keep both', async () => {
  const { a, b, account, key } = await start()
  const both = async (path: string, here: object, there: object) => {
    const answers = [a.call('PATCH', path, { ...key, body: here }), b.call('PATCH', path, { ...key, body: there })]
    let left = answers.length
    for (const answer of answers) void answer.finally(() => left--).catch(() => {})
    await expect.poll(async () => (await passTime(second, a, b), left)).toBe(0)
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200])
    for (const node of [a, b]) expect((await node.call('GET', path, key)).body).toMatchObject({ ...here, ...there })
  }
  const domain = await a.call('POST', '/api/domains', { ...key, body: { name: 'sender.example' } })
  await both(`/api/domains/${domain.body.id}`, { open_tracking: true }, { tls: 'enforced' })
  const hook = await a.call('POST', '/api/webhooks', { ...key, body: { url: 'https://app.example/hook' } })
  await both(`/api/webhooks/${hook.body.id}`, { status: 'disabled' }, { url: 'https://app.example/new' })
  const keys = { a: a.relay.services.apiKeys, b: b.relay.services.apiKeys }
  const { id } = await keys.a.create({ accountId: account.id, name: 'old', permission: 'sending_access' })
  await b.relay.services.changes.caughtUp()
  const changed = Promise.all([keys.a.change(id, { name: 'new' }), keys.b.change(id, { domainId: domain.body.id })])
  await onceSeen(changed, { here: a, there: b })
  for (const held of [keys.a, keys.b]) expect(held.get(id)).toMatchObject({ name: 'new', domainId: domain.body.id })
  const [here, there] = [a.relay.services.policies, b.relay.services.policies]
  await Promise.all([here.change(mailQuota, account.id, { day: 5 }), there.change(mailQuota, account.id, { month: 50 })])
  await here.change(suppressionPolicy, account.id, { softBounces: 3 } as never)
  for (const { relay } of [a, b]) {
    await relay.services.changes.caughtUp()
    expect(relay.services.policies.of(mailQuota, account.id)).toEqual({ day: 5, month: 50 })
  }
})

test('a node takes in the bounces of a domain that another node has just made known', async () => {
  const host = '127.0.2.83'
  const mx = await startFakeMx({ host })
  onTestFinished(() => mx.close())
  const { a, b, account } = await start({ delivery_port: String(mx.port) }, { 'rcpt.example': { a: [host] } })
  const { sendingDomains } = a.relay.services
  const domain = await sendingDomains.add(account.id, 'sender.example')
  const stranger = await SmtpClient.connect(b.returnPathPort)
  await stranger.command('EHLO mx.example')
  await stranger.command('MAIL FROM:<>')
  expect((await stranger.command('RCPT TO:<postmaster@nowhere.example>')).code).toBe(550)
  expect((await stranger.command(`RCPT TO:<postmaster@${domain.returnPathLabel}.sender.example>`)).last).toContain('No such mailbox here')
  expect(b.relay.services.sendingDomains.find('sender.example')).toHaveLength(1)
})

test('a session that begins at one node is known at the other, and once it is ended, it is over everywhere', async () => {
  const { a, b, account } = await start()
  const { users } = a.relay.services.people
  const { user, token: invitation } = await users.invite({
    accountId: account.id,
    email: 'ann@shop.example',
    role: 'owner',
    operator: false,
  })
  const ann = await onceSeen(users.takeInvitation(invitation, 'a long enough password'), { here: a, there: b })
  const begin = async (node: TestNode) => {
    const { sessions } = node.relay.services.people
    const { session } = await sessions.begin(ann, { address: '192.0.2.1', userAgent: 'test' })
    return { session, token: (await sessions.exchange(session, { sandbox: false })).token }
  }
  const statusAt = async (node: TestNode, token: string): Promise<number> => (await node.call('GET', '/api/account', { token })).status
  const [first, second, third] = [await begin(a), await begin(a), await begin(b)]
  expect([await statusAt(b, first.token), await statusAt(b, second.token), await statusAt(a, third.token)]).toEqual([200, 200, 200])

  await onceSeen(a.relay.services.people.sessions.end(first.session.id), { here: a, there: b })
  expect([await statusAt(b, first.token), await statusAt(b, second.token)]).toEqual([401, 200])
  await onceSeen(b.relay.services.people.sessions.endAll(user.id), { here: b, there: a })
  for (const token of [second.token, third.token]) expect([await statusAt(a, token), await statusAt(b, token)]).toEqual([401, 401])
})

test('a webhook that is enabled again at either node gets what is sent from then on, within two seconds', async () => {
  const host = '127.0.3.9'
  const mx = await startFakeMx({ host })
  onTestFinished(() => mx.close())
  const settings = { webhooks_allow_http: 'true', webhooks_allow_private_addresses: 'true', delivery_port: String(mx.port) }
  const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } }
  const { a, b, account, key } = await start(settings, zone)
  const domain = await a.relay.services.sendingDomains.add(account.id, 'sender.example')
  await a.relay.services.sendingDomains.verifyManually(domain.id)
  const receiver = await startReceiver(status(200))
  const body = { url: receiver.url, events: ['email.delivered'] }
  const made = await a.call('POST', '/api/webhooks', { ...key, body })
  expect(made).toMatchObject({ status: 201 })
  const { id } = made.body
  for (const [here, there] of [
    [a, b],
    [b, a],
  ] as const) {
    const change = (state: string) => here.call('PATCH', `/api/webhooks/${id}`, { ...key, body: { status: state } })
    expect((await change('disabled')).status).toBe(200)
    await passTime(second, there, here)
    await expect.poll(() => there.relay.services.webhooks.findWebhook(id)?.status).toBe('disabled')
    expect((await change('enabled')).status).toBe(200)
    const before = receiver.posts.length
    const sent = await here.call('POST', '/api/send', { ...key, body: email('app@sender.example') })
    // All of its events are there before the other node knows that somebody wants them.
    await expect.poll(async () => (await here.call('GET', `/api/emails/${sent.body.id}`, key)).body.last_event).toBe('delivered')
    await passTime(second, there, here)
    await passTime(second, there, here)
    await expect.poll(() => receiver.posts.length).toBe(before + 1)
  }
})
