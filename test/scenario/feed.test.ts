import { expect, onTestFinished, test } from 'vitest'
import { startTestRelay } from '../support/start-relay.ts'

async function start() {
  const relay = await startTestRelay({ mode: 'sandbox' })
  onTestFinished(() => relay.stop())
  return relay
}

test('an address that is suppressed between acceptance and delivery is not written to, however it is spelt', async () => {
  const relay = await start()
  const scheduled_at = new Date(relay.clock.now() + 60_000).toISOString()
  const names = ['Ann@Example.COM', 'ÉVA@example.com']
  const id = await relay.send([...names, 'bob@example.com'], { scheduled_at })
  await relay.call('POST', '/api/suppressions/batch/add', { emails: ['ann@example.com', 'Éva@EXAMPLE.com'] })
  relay.clock.advance(60_000)
  const states = async () => Object.fromEntries(Object.entries(await relay.recipients(id)).map(([name, { status }]) => [name, status]))
  await expect.poll(states).toEqual({ 'Ann@example.com': 'suppressed', 'ÉVA@example.com': 'suppressed', 'bob@example.com': 'delivered' })
  const { body } = await relay.call('GET', '/api/events?type=email.bounced')
  expect(body.data[0]).toMatchObject({ type: 'email.bounced', data: { email_id: id, bounce_type: 'hard', bounce_category: 'suppressed' } })
})

test('the stream tells of deliveries as they happen, and ends with the server', async () => {
  const relay = await start()
  const response = await fetch(`${relay.baseUrl}/api/events/stream`, { headers: { authorization: `Bearer ${relay.token}` } })
  let text = ''
  const reading = (async () => {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) text += part
  })()
  const id = await relay.send('delivered@simulator.test')
  await expect.poll(() => text.match(/^event: .*$/gm)).toEqual(['event: email.sent', 'event: email.delivered'])
  expect(text).toContain(`"email_id":"${id}"`)
  await relay.relay.stop()
  await reading
})
