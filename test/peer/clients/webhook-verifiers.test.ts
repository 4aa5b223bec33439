import { EventWebhook, EventWebhookHeader } from '@sendgrid/eventwebhook'
import { Resend, type WebhookEventPayload } from 'resend'
import { Webhook as SvixWebhook } from 'svix'
import { expect, test } from 'vitest'
import { startClientRelay } from '../../support/client-relay.ts'
import { startReceiver, status } from '../../support/webhook-receiver.ts'

/** A relay that posts to a receiver in this shape; gives what came of an email to each of the addresses. */
async function posted(payload: string, ...addresses: string[]) {
  const relay = await startClientRelay()
  // These libraries look at the time.
  relay.clock.set(Date.now())
  const receiver = await startReceiver(status(200))
  const { body: webhook } = await relay.call('POST', '/api/webhooks', { url: receiver.url, payload })
  for (const address of addresses) await relay.send(address)
  await expect.poll(() => receiver.posts.length).toBe(2 * addresses.length)
  return { posts: receiver.posts, webhook }
}

test('SendGrid: its EventWebhook verifies what is genuine, and nothing else', async () => {
  const { posts, webhook } = await posted('sendgrid', 'delivered@simulator.test', 'bounced@simulator.test')
  const verifier = new EventWebhook()
  const key = verifier.convertPublicKeyToECDSA(webhook.public_key)
  for (const { headers, body } of posts) {
    const signature = headers[EventWebhookHeader.SIGNATURE().toLowerCase()] ?? ''
    const timestamp = headers[EventWebhookHeader.TIMESTAMP().toLowerCase()] ?? ''
    expect(verifier.verifySignature(key, body, signature, timestamp)).toBe(true)
    expect(verifier.verifySignature(key, body.replace('simulator', 'simulated'), signature, timestamp)).toBe(false)
    expect(verifier.verifySignature(key, body, signature, `${Number(timestamp) + 1}`)).toBe(false)
  }
  const events = posts.map(({ body }) => JSON.parse(body)[0].event)
  expect(events.toSorted()).toEqual(['bounce', 'delivered', 'processed', 'processed'])
})

test('Resend: its client and the library behind it verify the Svix headers, and the event is of its types', async () => {
  const { posts, webhook } = await posted('resend', 'delivered@simulator.test', 'bounced@simulator.test')
  const resend = new Resend('re_unused')
  const events: WebhookEventPayload[] = []
  for (const { headers, body } of posts) {
    const [id = '', timestamp = '', signature = ''] = ['id', 'timestamp', 'signature'].map((name) => headers[`svix-${name}`])
    events.push(resend.webhooks.verify({ payload: body, headers: { id, timestamp, signature }, webhookSecret: webhook.signing_secret }))
    const svix = { 'svix-id': id, 'svix-timestamp': timestamp, 'svix-signature': signature }
    expect(new SvixWebhook(webhook.signing_secret).verify(body, svix)).toEqual(JSON.parse(body))
    expect(() => new SvixWebhook(webhook.signing_secret).verify(`${body} `, svix)).toThrow()
  }
  const bounced = events.find((event) => event.type === 'email.bounced')
  expect(bounced?.data).toMatchObject({
    to: ['bounced@simulator.test'],
    bounce: { type: 'Permanent', subType: 'NoEmail', message: expect.stringContaining('5.1.1') },
  })
})
