import { expect, onTestFinished, test } from 'vitest'
import { lostAgainMs } from '../../src/mail-out/delivery/classical-hosts.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { helloProxy, type HelloProxy } from '../support/hello-proxy.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testCertificate } from '../support/test-certificates.ts'
import { passTime, startTwoNodes, type TestNode } from '../support/two-nodes.ts'

const host = '127.0.0.2'
const zone = { 'rcpt.example': { mx: [[0, 'mx.rcpt.example']] as [number, string][] }, 'mx.rcpt.example': { a: [host] } }

/** A host that asks for X25519MLKEM768, behind something that resets every hello of more than one packet. */
async function hostBehindMiddlebox(): Promise<{ mx: FakeMx; proxy: HelloProxy }> {
  const mx = await startFakeMx({ tls: await testCertificate(['mx.rcpt.example']) })
  onTestFinished(() => mx.close())
  return { mx, proxy: await helloProxy(mx, ({ bytes }) => bytes > 1_400, host) }
}

const isTls = ({ messages }: FakeMx): boolean[] => messages.map(({ tls }) => tls)

test('a host that drops large hellos is offered small ones from then on, after a restart too', async () => {
  const { mx, proxy } = await hostBehindMiddlebox()
  const relay = await startTestRelay({ delivery_port: String(proxy.port) }, zone)
  onTestFinished(() => relay.stop())
  await relay.send('bob@rcpt.example')
  await mx.waitForMessages(1)
  proxy.cut()
  relay.clock.advance(lostAgainMs)
  const id = await relay.send('bob@rcpt.example')
  await mx.waitForMessages(2)
  const { db } = relay.relay.services
  await expect.poll(() => db.read('select id from classical_host')).toEqual([{ id: `${host} ${proxy.port}` }])
  const attempts = async () => (await relay.call('GET', `/api/emails/${id}/attempts`)).body.data
  await expect.poll(attempts).toMatchObject([
    {
      outcome: 'delivered',
      tls: { version: 'TLSv1.3', group: 'X25519', classical_only: true, resumed: false },
      tls_policy: 'opportunistic',
    },
  ])
  await relay.restart()
  const before = proxy.hellos.length
  await relay.send('bob@rcpt.example')
  await mx.waitForMessages(3)
  expect([proxy.hellos.slice(before).map(({ length }) => length), isTls(mx)]).toEqual([[1], [true, true, true]])
})

test('what one node has found of a host, the others know', async () => {
  const { mx, proxy } = await hostBehindMiddlebox()
  const { a, b } = await startTwoNodes({ delivery_port: String(proxy.port) }, zone)
  const { accounts, apiKeys, sendingDomains } = a.relay.services
  const account = await accounts.create('shop', 'enterprise')
  await sendingDomains.verifyManually((await sendingDomains.add(account.id, 'sender.example')).id)
  const { token } = await apiKeys.create({ accountId: account.id, name: 'shop', permission: 'full_access' })
  const body = { from: 'app@sender.example', to: 'bob@rcpt.example', subject: 'Hi', text: 'Hi' }
  const sendBy = async ({ call }: TestNode): Promise<void> => {
    proxy.cut()
    const already = mx.messages.length
    expect((await call('POST', '/api/send', { token, body })).status).toBe(200)
    await mx.waitForMessages(already + 1)
  }
  await sendBy(a)
  // Either may take the mail, so one of them has lost two hellos by the third.
  for (let sent = 1; sent < 3; sent++) {
    for (let passed = 0; passed < lostAgainMs; passed += 1_000) await passTime(1_000, a, b)
    await sendBy(a)
  }
  await expect.poll(() => a.relay.services.db.read('select id from classical_host')).toHaveLength(1)
  await passTime(1_000, a, b)
  for (const { relay } of [a, b]) await relay.services.changes.caughtUp()
  const before = proxy.hellos.length
  for (const node of [a, b]) await sendBy(node)
  expect(new Set(proxy.hellos.slice(before).map(({ length }) => length))).toEqual(new Set([1]))
  expect(isTls(mx)).toEqual([true, true, true, true, true])
})
