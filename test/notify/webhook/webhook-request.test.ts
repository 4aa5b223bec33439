import { createHmac, createPublicKey, verify } from 'node:crypto'
import { Webhook as SvixWebhook } from 'svix'
import { expect, test } from 'vitest'
import { newId } from '../../../src/platform/id.ts'
import type { PayloadKind } from '../../../src/notify/webhook/payload-kind.ts'
import { newSecret } from '../../../src/notify/webhook/sign-webhook.ts'
import { newSigningKey, openSigningKey, signingKeyFor } from '../../../src/notify/webhook/signing-key.ts'
import { webhookRequest } from '../../../src/notify/webhook/webhook-request.ts'
import { webhookObject } from '../../../src/notify/webhook/webhook-object.ts'
import type { Webhook } from '../../../src/notify/webhook/webhook-store.ts'

const secret = newSecret()
const eventId = newId('evt', Date.now())

async function webhookOf(payload: PayloadKind, own: Partial<Webhook> = {}): Promise<Webhook> {
  return {
    ...webhookObject.initial,
    id: 'wh_1',
    accountId: 'acc_1',
    sandbox: false,
    url: 'https://a.example/',
    events: ['email.delivered'],
    payload,
    disabledReason: null,
    secret,
    previousSecret: null,
    previousExpiresAt: null,
    signingKey: await newSigningKey(payload),
    createdAt: 0,
    updatedAt: 0,
    revision: 0,
    ...own,
  }
}

const text = '{"subject":"Grüße 👋"}'
const requestOf = async (webhook: Webhook, at = Date.now()) => {
  const { headers, body } = await webhookRequest(webhook, {
    eventId,
    eventType: 'email.delivered',
    deliveryId: 'whd_1',
    number: 1,
    text,
    at,
  })
  return { headers, body: body.toString() }
}

/** As a receiver makes one of what the webhook shows. */
const publicKey = (base64 = '') => createPublicKey(`-----BEGIN PUBLIC KEY-----\n${base64}\n-----END PUBLIC KEY-----`)

const ownSignature = (body: string) => createHmac('sha256', secret).update(body).digest('hex')

test('SendGrid: ECDSA of the time and the body, by the public key', async () => {
  const webhook = await webhookOf('sendgrid')
  const { headers, body } = await requestOf(webhook)
  const key = publicKey(webhook.signingKey?.publicKey)
  expect(key.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' })
  const signature = Buffer.from(headers['x-twilio-email-event-webhook-signature'] ?? '', 'base64')
  const signed = (told: string) => Buffer.from(`${headers['x-twilio-email-event-webhook-timestamp']}${told}`)
  expect(verify('sha256', signed(body), key, signature)).toBe(true)
  expect(verify('sha256', signed(`${body} `), key, signature)).toBe(false)
  expect(headers['x-service-signature']).toBe(ownSignature(body))
})

test('Postal: RSA of the body, with SHA-1 and with SHA-256', async () => {
  const webhook = await webhookOf('postal')
  const { headers, body } = await requestOf(webhook)
  const key = publicKey(webhook.signingKey?.publicKey)
  expect(key.asymmetricKeyType).toBe('rsa')
  expect(verify('sha1', Buffer.from(body), key, Buffer.from(headers['x-postal-signature'] ?? '', 'base64'))).toBe(true)
  expect(verify('sha256', Buffer.from(body), key, Buffer.from(headers['x-postal-signature-256'] ?? '', 'base64'))).toBe(true)
  expect(verify('sha1', Buffer.from(`${body} `), key, Buffer.from(headers['x-postal-signature'] ?? '', 'base64'))).toBe(false)
})

test('Mailgun: an HMAC of the time and a token that an event keeps, around the event', async () => {
  const webhook = await webhookOf('mailgun')
  const first = await requestOf(webhook, 1_000_000)
  const { signature, 'event-data': event } = JSON.parse(first.body)
  expect(event).toEqual(JSON.parse(text))
  expect(signature.timestamp).toBe('1000')
  expect(signature.token).toMatch(/^[0-9a-f]{50}$/)
  expect(signature.signature).toBe(
    createHmac('sha256', secret)
      .update(signature.timestamp + signature.token)
      .digest('hex'),
  )
  expect(first.headers['x-service-signature']).toBe(ownSignature(first.body))
  const second = JSON.parse((await requestOf(webhook, 61_000_000)).body)
  expect(second.signature).toMatchObject({ timestamp: '61000', token: signature.token })
  expect(second.signature.signature).not.toBe(signature.signature)
})

test('Resend: the headers of Svix, with both secrets while a rotation overlaps', async () => {
  const previousSecret = newSecret()
  const { headers, body } = await requestOf(await webhookOf('resend', { previousSecret, previousExpiresAt: Date.now() + 60_000 }))
  const svix = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('svix-')))
  for (const one of [secret, previousSecret]) expect(new SvixWebhook(one).verify(body, svix)).toEqual(JSON.parse(text))
})

test.each<PayloadKind>(['standard', 'postmark', 'sendgrid'])('%s: user name and password as RFC 7617 has them', async (payload) => {
  const { headers } = await requestOf(await webhookOf(payload, { basicAuth: { username: 'app', password: 'pä:ss' } }))
  expect(headers.authorization).toBe(`Basic ${Buffer.from('app:pä:ss').toString('base64')}`)
  expect((await requestOf(await webhookOf(payload))).headers).not.toHaveProperty('authorization')
})

test('a key is kept as long as it is of use, and is the same once it was stored', async () => {
  const key = await newSigningKey('sendgrid')
  expect(await signingKeyFor('sendgrid', key)).toBe(key)
  expect((await signingKeyFor('postal', key))?.type).toBe('rsa')
  expect(await signingKeyFor('mailgun', key)).toBeNull()
  expect(openSigningKey(key?.sealable ?? Buffer.alloc(0)).publicKey).toBe(key?.publicKey)
})
