import { createHmac, timingSafeEqual } from 'node:crypto'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { expect, test } from 'vitest'
import { newSecret, webhookHeaders } from '../../../src/notify/webhook/sign-webhook.ts'

const body = '{"id":"evt_1","type":"email.delivered","data":{"subject":"Grüße 👋"}}'
const secret = newSecret()
const old = newSecret()

const headersWith = (previousSecret: string | null) =>
  webhookHeaders({
    eventId: 'evt_1',
    eventType: 'email.delivered',
    deliveryId: 'whd_1',
    number: 2,
    body: Buffer.from(body),
    secret,
    previousSecret,
    at: Date.now(),
  })

/** What a receiver writes who has read nothing but the description of the header. */
function isGenuine(headers: Record<string, string>, payload: string, signingSecret: string): boolean {
  const expected = createHmac('sha256', signingSecret).update(payload).digest('hex')
  const given = headers['x-service-signature'] ?? ''
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}

test('a secret is 32 random bytes, usable for both signatures', () => {
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(newSecret()).not.toBe(secret)
})

test('plain crypto, standardwebhooks and svix accept valid signatures and refuse altered requests', () => {
  const headers = headersWith(null)
  expect(headers['x-service-signature']).toMatch(/^[0-9a-f]{64}$/)
  expect(isGenuine(headers, body, secret)).toBe(true)
  expect(isGenuine(headers, body.replace('1', '2'), secret)).toBe(false)
  expect(isGenuine(headers, body, old)).toBe(false)
  for (const verifier of [new StandardWebhook(secret), new SvixWebhook(secret)]) {
    expect(verifier.verify(body, headers)).toEqual(JSON.parse(body))
    expect(() => verifier.verify(body.replace('1', '2'), headers)).toThrow()
    expect(() => verifier.verify(body, { ...headers, 'webhook-id': 'evt_2' })).toThrow()
  }
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': 'Sterna-Webhooks/1',
    'webhook-id': 'evt_1',
    'x-service-event': 'email.delivered',
    'x-service-delivery': 'whd_1',
    'x-service-attempt': '2',
  })
  expect(headers).not.toHaveProperty('x-service-signature-previous')
})

test('during a rotation, receivers with either secret accept', () => {
  const headers = headersWith(old)
  expect(isGenuine(headers, body, secret)).toBe(true)
  expect(isGenuine({ 'x-service-signature': headers['x-service-signature-previous'] ?? '' }, body, old)).toBe(true)
  for (const one of [secret, old]) {
    for (const verifier of [new StandardWebhook(one), new SvixWebhook(one)])
      expect(verifier.verify(body, headers)).toEqual(JSON.parse(body))
  }
})
