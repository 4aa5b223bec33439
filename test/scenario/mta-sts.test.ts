import { unlinkSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { authorityFile } from '../support/authority-file.ts'
import type { FakeZone } from '../support/fake-dns.ts'
import { startFakeMx, type FakeMxOptions } from '../support/fake-mx.ts'
import { keepLargePolicies } from '../support/keep-sts-policy.ts'
import { answerWith, policyHost, policyText, type PolicyHost } from '../support/policy-host.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { testCertificate, type TestCertificate } from '../support/test-certificates.ts'

const mxHost = '127.0.2.61'
const minute = 60_000
const day = 24 * 60 * minute

let valid: TestCertificate
let selfSigned: TestCertificate
beforeAll(async () => {
  ;[valid, selfSigned] = await Promise.all([
    testCertificate(['mta-sts.rcpt.example', 'mx.rcpt.example']),
    testCertificate(['mx.rcpt.example']),
  ])
})

/** What is announced under this id, and where it is. */
const announced = (id: string): FakeZone => ({ '_mta-sts.rcpt.example': { txt: [`v=STSv1; id=${id};`] } })
const zone = (): FakeZone => ({
  'rcpt.example': { mx: [[0, 'mx.rcpt.example']] },
  'mx.rcpt.example': { a: [mxHost] },
  'mta-sts.rcpt.example': { a: ['127.0.0.1'] },
  'other.example': { a: [mxHost] },
  ...announced('1'),
})

/** A relay that trusts `valid`, and the hosts of rcpt.example. */
async function start(mxOptions: FakeMxOptions, answer: PolicyHost['answer'], settings: Record<string, string> = {}) {
  const policies = await policyHost(valid, answer)
  const mx = await startFakeMx({ host: mxHost, ...mxOptions })
  onTestFinished(() => mx.close())
  const ca = authorityFile(valid)
  const given = { delivery_port: String(mx.port), delivery_smarthost_ca: ca, delivery_retry_schedule: '10m', ...settings }
  const relay = await startTestRelay(given, zone(), { policyPort: policies.port })
  onTestFinished(() => relay.stop())
  const to = (name: string) => sent(relay, name)
  return { relay, policies, mx, to, ca }
}

/** Sends an email, and gives its first attempt. */
async function sent(relay: TestRelay, to: string, fields: Record<string, unknown> = {}): Promise<any> {
  const id = await relay.send(to, fields)
  const attempts = async () => (await relay.call('GET', `/api/emails/${id}/attempts`)).body.data
  await expect.poll(attempts).toHaveLength(1)
  return { ...(await attempts())[0], id }
}

const enforced = answerWith(policyText('enforce', ['mx.rcpt.example']))
const verified = {
  outcome: 'delivered',
  tls: { verified: true },
  tls_policy: 'verify',
  tls_policy_source: 'mta_sts',
  mta_sts: { mode: 'enforce' },
}
const unprotected = { outcome: 'delivered', tls_policy: 'opportunistic', tls_policy_source: null, mta_sts: null }

test('mail goes by the policy of its domain, which is fetched once, and known after a restart', async () => {
  const { relay, policies, to } = await start({ tls: valid }, enforced)
  expect(await Promise.all(['ann', 'bob'].map((name) => to(`${name}@rcpt.example`)))).toMatchObject([verified, verified])
  expect(policies.requests).toEqual(['mta-sts.rcpt.example/.well-known/mta-sts.txt'])
  expect(await to('ann@other.example')).toMatchObject(unprotected)
  await relay.restart()
  // Neither the DNS nor the host of the policy answers any more.
  relay.dns.zone['_mta-sts.rcpt.example'] = 'servfail'
  policies.answer = answerWith('', 500)
  expect(await to('ann@rcpt.example')).toMatchObject(verified)
  expect(policies.requests).toHaveLength(1)
  expect(await relay.relay.services.db.read('select domain from mta_sts_policy')).toEqual([{ domain: 'rcpt.example' }])
})

test('a policy holds after a restart, though memory has no room for all of them', async () => {
  const { relay, policies, to } = await start({ tls: valid }, enforced)
  expect(await to('ann@rcpt.example')).toMatchObject(verified)
  await keepLargePolicies(relay.relay.services, relay.clock.now() + 1)
  await relay.restart()
  relay.dns.zone['_mta-sts.rcpt.example'] = 'servfail'
  expect(await to('bob@rcpt.example')).toMatchObject(verified)
  expect(await to('ann@other.example')).toMatchObject(unprotected)
  expect(policies.requests).toHaveLength(1)
})

test('while the store cannot be read, mail waits rather than leave below a policy that may be in it', async () => {
  const { relay, to } = await start({ tls: valid }, enforced)
  expect(await to('ann@rcpt.example')).toMatchObject(verified)
  await keepLargePolicies(relay.relay.services, relay.clock.now() + 1)
  await relay.restart()
  const { db } = relay.relay.services
  await db.write([{ sql: 'alter table mta_sts_policy rename to unreadable' }])
  const { id, ...attempt } = await to('bob@rcpt.example')
  expect(attempt).toMatchObject({
    outcome: 'deferred',
    reply: '4.3.0 the store cannot tell whether rcpt.example has an MTA-STS policy',
    explanation: { code: 'internal_error' },
  })
  await db.write([{ sql: 'alter table unreadable rename to mta_sts_policy' }])
  relay.clock.advance(20 * minute)
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('delivered')
  const { data } = (await relay.call('GET', `/api/emails/${id}/attempts`)).body
  expect(data.map((each: any) => each.tls_policy_source)).toContain('mta_sts')
})

test('a host with another certificate gets nothing, and the bounce names the policy', async () => {
  const { relay, mx } = await start({ tls: selfSigned }, enforced)
  const { id, ...attempt } = await sent(relay, 'ann@rcpt.example', { expires_in: 300 })
  expect(attempt).toMatchObject({
    outcome: 'deferred',
    tls_policy: 'verify',
    tls_policy_source: 'mta_sts',
    explanation: { code: 'tls' },
    reply: expect.stringContaining(
      'TLS is required by the policy verify that the domain publishes (MTA-STS), but the certificate is not valid',
    ),
  })
  relay.clock.advance(20 * minute)
  await expect.poll(async () => (await relay.recipients(id))['ann@rcpt.example']?.status).toBe('bounced')
  expect((await relay.recipients(id))['ann@rcpt.example']?.last_response).toContain('(MTA-STS)')
  expect(mx.messages).toEqual([])
})

test('what is set for a domain does not keep its policy from vouching for its hosts to mail with REQUIRETLS', async () => {
  const { relay } = await start({ tls: valid, extensions: ['REQUIRETLS'] }, enforced, { delivery_recipient_tls: 'rcpt.example=require' })
  const vouched = { outcome: 'delivered', tls_policy: 'verify', tls_policy_source: 'message' }
  expect(await sent(relay, 'ann@rcpt.example', { require_tls: true })).toMatchObject(vouched)
  expect(await sent(relay, 'ann@rcpt.example')).toMatchObject({ outcome: 'delivered', tls_policy: 'require', mta_sts: null })
})

test('a policy that lists none of the hosts is the fault of the recipient, until its owner corrects it', async () => {
  const { relay, policies, mx } = await start({ tls: valid }, answerWith(policyText('enforce', ['*.other.example'])))
  const { id, ...attempt } = await sent(relay, 'ann@rcpt.example')
  expect(attempt).toMatchObject({
    outcome: 'deferred',
    mx_host: 'mx.rcpt.example',
    tls_policy_source: 'mta_sts',
    explanation: { code: 'mta_sts', owner: 'recipient' },
    reply: '4.7.5 the MTA-STS policy of rcpt.example does not list the host mx.rcpt.example: it lists *.other.example',
  })
  expect(mx.sessions).toEqual([])
  // Corrected without another id.
  policies.answer = enforced
  relay.clock.advance(20 * minute)
  await mx.waitForMessages(1)
  await expect.poll(async () => (await relay.recipients(id))['ann@rcpt.example']?.status).toBe('delivered')
})

test('of several hosts that a policy does not list, the attempt shows the one that its reason names', async () => {
  const { relay } = await start({ tls: valid }, answerWith(policyText('enforce', ['*.other.example'])))
  relay.dns.zone['rcpt.example'] = { mx: [1, 2, 3].map((n) => [n, `mx${n}.rcpt.example`]) }
  for (const n of [1, 2, 3]) relay.dns.zone[`mx${n}.rcpt.example`] = { a: [`127.0.2.${63 + n}`] }
  const { mx_host: host, reply } = await sent(relay, 'ann@rcpt.example')
  expect(reply).toContain(`does not list the host ${host}:`)
})

test('a policy in testing is reported, and the mail sent', async () => {
  const { to } = await start({ tls: selfSigned }, answerWith(policyText('testing', ['mx.rcpt.example'])))
  expect(await to('ann@rcpt.example')).toMatchObject({
    ...unprotected,
    mta_sts: { mode: 'testing', objection: expect.stringContaining('the certificate is not valid') },
  })
})

test('another policy is fetched when the DNS announces it, and one that requires nothing ends the protection', async () => {
  const { relay, policies, to, ca } = await start({ tls: selfSigned }, answerWith(policyText('testing', ['mx.rcpt.example'])))
  expect(await to('ann@rcpt.example')).toMatchObject({ outcome: 'delivered' })
  // Whom to trust is known by now.
  unlinkSync(ca)
  policies.answer = enforced
  Object.assign(relay.dns.zone, announced('2'))
  relay.clock.advance(6 * minute)
  expect(await to('ann@rcpt.example')).toMatchObject({ outcome: 'deferred', mta_sts: { mode: 'enforce' } })
  policies.answer = answerWith(policyText('none', []))
  Object.assign(relay.dns.zone, announced('3'))
  relay.clock.advance(6 * minute)
  expect(await to('bob@rcpt.example')).toMatchObject(unprotected)
  // The same id costs no other fetch.
  relay.clock.advance(6 * minute)
  expect(await to('bob@rcpt.example')).toMatchObject(unprotected)
  expect(policies.requests).toHaveLength(3)
})

test('a policy holds when its record goes, until its time is over', async () => {
  const { relay, to } = await start({ tls: selfSigned }, answerWith(policyText('enforce', ['mx.rcpt.example'], day / 1000)))
  expect(await to('ann@rcpt.example')).toMatchObject({ outcome: 'deferred' })
  relay.dns.zone['_mta-sts.rcpt.example'] = 'nxdomain'
  relay.clock.advance(day - minute)
  expect(await to('bob@rcpt.example')).toMatchObject({ outcome: 'deferred', mta_sts: { mode: 'enforce' } })
  relay.clock.advance(minute)
  expect(await to('cat@rcpt.example')).toMatchObject(unprotected)
})

test('where no policy can be fetched and none is known, mail goes as without, and other mail does not wait for the fetch', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  let answer = (): void => {}
  const { relay, policies, to } = await start({ tls: selfSigned }, (request, response) => {
    answer = () => void enforced(request, response)
    resolve()
  })
  const waiting = to('ann@rcpt.example')
  await asked
  expect(await to('ann@other.example')).toMatchObject(unprotected)
  answer()
  expect(await waiting).toMatchObject({ outcome: 'deferred', mta_sts: { mode: 'enforce' } })
  await relay.relay.services.db.write([{ sql: 'delete from mta_sts_policy' }])
  await relay.restart()
  policies.answer = answerWith('', 404)
  expect(await to('bob@rcpt.example')).toMatchObject(unprotected)
  expect(await relay.relay.services.db.read('select mode, fault_type from mta_sts_policy')).toEqual([
    { mode: null, fault_type: 'sts-policy-fetch-error' },
  ])
})

test('web servers that never answer hold fifty fetches at most, and give way to others', async () => {
  const { relay, policies, to } = await start({ tls: valid }, enforced)
  const tarpit = '127.0.2.62'
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket.resume())
    socket.on('error', () => {}).once('close', () => open.delete(socket))
  })
  await new Promise<void>((listening) => server.listen(policies.port, tarpit, listening))
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  for (let i = 0; i < 60; i++) {
    relay.dns.zone[`tarpit${i}.example`] = { a: [mxHost] }
    relay.dns.zone[`_mta-sts.tarpit${i}.example`] = { txt: ['v=STSv1; id=1'] }
    relay.dns.zone[`mta-sts.tarpit${i}.example`] = { a: [tarpit] }
    await relay.send(`ann@tarpit${i}.example`)
  }
  await expect.poll(() => open.size).toBe(50)
  expect(await to('ann@rcpt.example')).toMatchObject(verified)
  const ended = `select domain from mta_sts_policy where fault like '%did not answer within 5 seconds'`
  expect((await relay.relay.services.db.read(ended)).length).toBeGreaterThan(0)
  await expect.poll(() => open.size).toBeLessThanOrEqual(50)
})

test('an operator reads what is known of a domain, and refreshes it at once', async () => {
  const { relay, policies } = await start({ tls: valid }, enforced)
  const { accounts, apiKeys } = relay.relay.services
  const { token } = await apiKeys.create({ accountId: accounts.getAccount('test').id, name: 'operator', permission: 'operator' })
  const call = async (method: string, path: string) =>
    (await relay.call(method, path, undefined, { authorization: `Bearer ${token}` })).body
  const explained = async () => (await call('GET', '/api/explain?to=ann@rcpt.example')).tls.mta_sts
  expect(await call('GET', '/api/mta-sts/rcpt.example')).toMatchObject({ name: 'not_found', message: expect.stringContaining('A refresh') })
  expect(await explained()).toBe(null)
  const policy = { object: 'mta_sts_policy', mode: 'enforce', mx: ['mx.rcpt.example'], policy_id: '1', fault: null }
  expect(await call('POST', '/api/mta-sts/Rcpt.example/refresh')).toMatchObject({ ...policy, announced_id: '1' })
  expect(await call('GET', '/api/mta-sts/rcpt.example')).toMatchObject(policy)
  expect(await explained()).toEqual({ mode: 'enforce', mx: ['mx.rcpt.example'], expires_at: expect.any(String) })
  // A refresh does not wait until it is worth another try, and a policy that is known survives one that fails.
  policies.answer = answerWith('', 404)
  const failed = { ...policy, fault: { type: 'sts-policy-fetch-error', reason: expect.stringContaining('404') } }
  expect(await call('POST', '/api/mta-sts/rcpt.example/refresh')).toMatchObject(failed)
  relay.dns.zone['_mta-sts.rcpt.example'] = 'nxdomain'
  expect(await call('POST', '/api/mta-sts/rcpt.example/refresh')).toMatchObject({ ...failed, announced_id: null })
  expect(policies.requests).toHaveLength(2)
  for (const domain of ['other.example', '192.0.2.1'])
    expect(await call('POST', `/api/mta-sts/${domain}/refresh`)).toMatchObject({ name: 'not_found' })
})

test.each([{ delivery_mta_sts: 'false' }, { delivery_recipient_tls: 'rcpt.example=opportunistic' }])(
  'no policy is looked at where the operator says so: %j',
  async (settings) => {
    const { relay, policies, to } = await start({ tls: selfSigned }, enforced, settings)
    expect(await to('ann@rcpt.example')).toMatchObject(unprotected)
    expect([policies.requests, relay.dns.queries.filter(({ name }) => name.startsWith('_mta-sts'))]).toEqual([[], []])
  },
)
