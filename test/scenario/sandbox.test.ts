import { createTransport } from 'nodemailer'
import { expect, onTestFinished, test } from 'vitest'
import { startTestRelay } from '../support/start-relay.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

test('on a server in sandbox mode a live key sets it up, and a sandbox key neither does nor gets at live keys', async () => {
  const relay = await startTestRelay({ mode: 'sandbox' })
  onTestFinished(() => relay.stop())
  const { accounts, apiKeys } = relay.relay.services
  const accountId = accounts.findAccount('test')?.id ?? ''
  const { token } = await apiKeys.create({ accountId, name: 'rehearsing', permission: 'full_access', sandbox: true })
  const template = { name: 'Welcome', alias: 'welcome', subject: 'Hello', html: '<p>Hello</p>' }
  const rehearsing = { authorization: `Bearer ${token}` }
  expect(await relay.call('POST', '/api/templates', template, rehearsing)).toMatchObject({
    status: 403,
    body: { name: 'restricted_api_key' },
  })
  expect(await relay.call('POST', '/api/templates', template)).toMatchObject({ status: 201 })
  const [own] = apiKeys.list(accountId)
  expect((await relay.call('GET', '/api/api-keys', undefined, rehearsing)).body.data).toMatchObject([{ name: 'rehearsing' }])
  expect(await relay.call('POST', `/api/api-keys/${own?.id}/rotate`, {}, rehearsing)).toMatchObject({ status: 404 })
  const { body: made } = await relay.call('POST', '/api/api-keys', { name: 'for later' })
  expect(apiKeys.get(made.id)).toMatchObject({ sandbox: true, confined: false })
})

test('a server in sandbox mode lets no mail out, whatever key and door it comes by', async () => {
  const relay = await startTestRelay({ mode: 'sandbox' })
  onTestFinished(() => relay.stop())
  const id = await relay.send('ann@real.example')
  await expect.poll(() => relay.events(id)).toEqual(['email.delivered', 'email.sent', 'email.queued'])
  const transport = createTransport({
    host: '127.0.0.1',
    port: relay.submissionPort,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'any', pass: relay.token },
  })
  const { response } = await transport.sendMail({ from: 'me@anywhere.example', to: 'bob@real.example', subject: 'Hi', text: 'Hi' })
  const bySmtp = /em_\w+/.exec(response)?.[0] ?? ''
  await expect.poll(() => relay.events(bySmtp)).toEqual(['email.delivered', 'email.sent', 'email.queued'])
  expect(relay.dns.queries).toEqual([])
})

test('what happens in the sandbox is marked wherever it is shown, and what is live looks as ever', async () => {
  const relay = await startTestRelay({ webhooks_allow_private_addresses: 'true' })
  onTestFinished(() => relay.stop())
  const { accounts, apiKeys } = relay.relay.services
  const accountId = accounts.findAccount('test')?.id ?? ''
  const { token } = await apiKeys.create({ accountId, name: 'rehearsing', permission: 'full_access', sandbox: true })
  const receiver = await startReceiver(status(200))
  const seenBy = async (headers: Record<string, string>) => {
    const call = async (method: string, path: string, body?: unknown) => (await relay.call(method, path, body, headers)).body
    const { sandbox: ofWebhook } = await call('POST', '/api/webhooks', { url: receiver.url, events: ['email.sent'] })
    receiver.posts.length = 0
    const { id } = await call('POST', '/api/send', { from: 'app@sender.example', to: 'a@recipient.example', subject: 'Hi', text: 'Hi' })
    await expect.poll(() => receiver.posts).toHaveLength(1)
    const [listed] = (await call('GET', '/api/emails')).data
    const [logged] = (await call('GET', '/api/events')).data
    const [own] = (await call('GET', `/api/emails/${id}/events`)).data
    const posted = JSON.parse(receiver.posts[0]?.body ?? '{}')
    return [{ sandbox: ofWebhook }, listed, await call('GET', `/api/emails/${id}`), logged, own, posted].map(({ sandbox }) => sandbox)
  }
  expect(await seenBy({ authorization: `Bearer ${token}` })).toEqual([true, true, true, true, true, true])
  expect(await seenBy({})).toEqual([false, false, false, undefined, undefined, undefined])
})
