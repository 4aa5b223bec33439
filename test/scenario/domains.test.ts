import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const [minute, hour] = [60_000, 3_600_000]

async function start() {
  const mx = await startFakeMx({ host: '127.0.4.1' })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port) },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: ['127.0.4.1'] } },
  )
  onTestFinished(() => relay.stop())
  return { mx, relay }
}

const email = (from: string) => ({ from, to: 'ann@rcpt.example', subject: 'Hello', text: 'Hello' })

async function publish(relay: TestRelay, name: string): Promise<void> {
  const { body } = await relay.call('GET', `/api/domains/${name}`)
  for (const { name: at, type, value, priority } of body.records) {
    const entry = relay.dns.zone[at]
    relay.dns.zone[at] = {
      ...(typeof entry === 'object' ? entry : {}),
      ...(type === 'MX' ? { mx: [[priority, value]] } : { txt: [value] }),
    }
  }
}

test('mail that was accepted from a domain leaves signed after the domain is removed, and nothing else does', async () => {
  const { mx, relay } = await start()
  const { apiKeys, sendingDomains } = relay.relay.services
  const [domain] = sendingDomains.find('sender.example')
  const limited = await apiKeys.create({
    accountId: domain?.accountId ?? '',
    name: 'shop',
    permission: 'sending_access',
    domainId: domain?.id ?? '',
  })
  const asLimited = (body: unknown) => relay.call('POST', '/api/send', body, { authorization: `Bearer ${limited.token}` })
  expect((await asLimited(email('app@sender.example'))).status).toBe(200)
  await mx.waitForMessages(1)

  mx.on.rcpt = () => '451 4.7.1 Later'
  const id = await relay.send('bob@rcpt.example')
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('deferred')
  expect((await relay.call('DELETE', '/api/domains/sender.example')).body).toMatchObject({ id: domain?.id, deleted: true })
  expect((await relay.call('POST', '/api/send', email('app@sender.example'))).body.name).toBe('domain_not_verified')
  expect((await asLimited(email('app@sender.example'))).status).toBe(403)
  await relay.restart()
  await relay.relay.services.sendingDomains.forgetOld()
  delete mx.on.rcpt
  relay.clock.advance(2 * hour)
  const [, late] = await mx.waitForMessages(2)
  expect(late?.data.toString()).toMatch(/^X-Sterna-Ref: .*\r\nDKIM-Signature: v=1; a=rsa-sha256; c=relaxed\/relaxed; d=sender\.example;/)
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('delivered')
  relay.clock.advance(hour)
  await relay.relay.services.sendingDomains.forgetOld()
  expect(relay.relay.services.sendingDomains.senderDomain(domain?.id ?? '')).toBeNull()

  // The same name is another domain now, and the limited key has no part in it.
  const { body: again } = await relay.call('POST', '/api/domains', { name: 'sender.example' })
  await publish(relay, 'sender.example')
  await relay.relay.services.sendingDomains.verify(again.id)
  expect((await relay.call('POST', '/api/send', email('app@sender.example'))).status).toBe(200)
  expect((await asLimited(email('app@sender.example'))).body.name).toBe('restricted_api_key')
})

test('a domain that is published late verifies by itself, and one that lost its records fails after three days', async () => {
  const { relay } = await start()
  const { sendingDomains } = relay.relay.services
  const recheckAfter = (ms: number): Promise<number> => {
    relay.clock.advance(ms)
    return sendingDomains.recheckDue()
  }
  const status = async (): Promise<string> => (await relay.call('GET', '/api/domains/shop.example')).body.status
  expect((await relay.call('POST', '/api/domains', { name: 'shop.example' })).body.status).toBe('not_started')
  expect(await recheckAfter(10 * minute)).toBe(1)
  expect(await status()).toBe('pending')
  await publish(relay, 'shop.example')
  await recheckAfter(10 * minute)
  expect(await status()).toBe('verified')
  for (const name of ['shop.example', 'news.shop.example', 'a.b.shop.example']) {
    expect((await relay.call('POST', '/api/send', email(`app@${name}`))).status).toBe(200)
  }
  await relay.call('PATCH', '/api/domains/shop.example', { subdomains: false })
  expect((await relay.call('POST', '/api/send', email('app@news.shop.example'))).body.name).toBe('domain_not_verified')

  delete relay.dns.zone['send.shop.example']
  await recheckAfter(6 * hour)
  await relay.restart()
  for (let waited = 6 * hour; waited < 72 * hour; waited += 6 * hour) {
    relay.clock.advance(6 * hour)
    await relay.relay.services.sendingDomains.recheckDue()
    expect(await status()).toBe('verified')
  }
  relay.clock.advance(6 * hour)
  await relay.relay.services.sendingDomains.recheckDue()
  expect(await status()).toBe('failed')
  const { body } = await relay.call('GET', '/api/domains/shop.example')
  expect(body.records.map((record: { status: string }) => record.status)).toEqual(['verified', 'verified', 'failed', 'failed', 'verified'])
})
