import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/** Debian's python3-django-anymail, unpatched: its views take our webhooks for those of each service, and check them. */

interface Told {
  service: string
  event_type: string
  message_id: string | number
  recipient: string
  reject_reason: string | null
  metadata: Record<string, string>
  tags: string[]
  click_url: string | null
  mta_response: string | null
  event_id: string
  timestamp: number
}

const basicAuth = { username: 'anymail', password: 'p:ass' }
const told: Told[] = []
let relay: TestRelay
let stop = (): void => {}
/** Statuses that Anymail answered with, of all requests. */
let answered: () => Promise<string[]>

beforeAll(async () => {
  relay = await startTestRelay({ webhooks_allow_private_addresses: 'true' })
  const app = spawn('/usr/bin/python3', [join(import.meta.dirname, 'anymail/webhooks.py')], { stdio: ['pipe', 'pipe', 'inherit'] })
  stop = () => void app.kill()
  const lines = createInterface({ input: app.stdout })
  const [port] = (await once(lines, 'line')) as [string]
  lines.on('line', (line) => told.push(JSON.parse(line)))
  const hooks: Record<string, any> = {}
  for (const payload of ['sendgrid', 'postmark', 'mailgun', 'postal']) {
    const url = `http://127.0.0.1:${port}/${payload}/tracking/`
    const { status, body } = await relay.call('POST', '/api/webhooks', { url, payload, basic_auth: basicAuth, include_bots: true })
    expect(status).toBe(201)
    hooks[payload] = body
  }
  answered = async () => {
    const pages = Object.values(hooks).map(
      async ({ id }) => (await relay.call('GET', `/api/webhooks/${id}/deliveries?limit=100`)).body.data,
    )
    return (await Promise.all(pages)).flat().map(({ status }) => status)
  }
  const settings = {
    WEBHOOK_SECRET: `${basicAuth.username}:${basicAuth.password}`,
    MAILGUN_WEBHOOK_SIGNING_KEY: hooks['mailgun'].signing_secret,
    POSTAL_WEBHOOK_KEY: hooks['postal'].public_key,
  }
  app.stdin.write(`${JSON.stringify(settings)}\n`)
})

afterAll(async () => {
  await relay.stop()
  stop()
})

const people = ['delivered', 'bounced', 'softbounced', 'suppressed', 'clicked', 'complained', 'unsubscribed']
const recipients = people.map((person) => `${person}@simulator.test`)
const html = '<p>Hello, <a href="https://shop.example/">shop</a></p>'

/** Sends by the service's own API to each of the people, and gives the ids by which its Anymail back end would know the emails. */
const senders: Record<string, (to: string) => Promise<string | number>> = {
  async SendGrid(to) {
    const anymailId = `id-of-${to}`
    const body = {
      from: { email: 'app@sender.example' },
      subject: 'Hello',
      content: [{ type: 'text/html', value: html }],
      personalizations: [{ to: [{ email: to }], custom_args: { order: '7', anymail_id: anymailId } }],
      categories: ['welcome'],
    }
    await post('/compat/sendgrid/v3/mail/send', { authorization: `Bearer ${relay.token}`, body: JSON.stringify(body) })
    return anymailId
  },
  async Postmark(to) {
    const body = { From: 'app@sender.example', To: to, Subject: 'Hello', HtmlBody: html, Tag: 'welcome', Metadata: { order: '7' } }
    const answer = await post('/compat/postmark/email', { 'x-postmark-server-token': relay.token, body: JSON.stringify(body) })
    return answer.MessageID
  },
  async Mailgun(to) {
    const form = new URLSearchParams({ from: 'app@sender.example', to, subject: 'Hello', html, 'o:tag': 'welcome', 'v:order': '7' })
    const authorization = `Basic ${Buffer.from(`api:${relay.token}`).toString('base64')}`
    const type = 'application/x-www-form-urlencoded'
    const answer = await post('/compat/mailgun/v3/sender.example/messages', { authorization, 'content-type': type, body: form.toString() })
    return answer.id
  },
  async Postal(to) {
    const body = { from: 'app@sender.example', to: [to], subject: 'Hello', html_body: html, tag: 'welcome' }
    const answer = await post('/compat/postal/api/v1/send/message', { 'x-server-api-key': relay.token, body: JSON.stringify(body) })
    return answer.data.messages[to].id
  },
}

async function post(path: string, { body, ...headers }: Record<string, string> & { body: string }): Promise<any> {
  const response = await fetch(relay.baseUrl + path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
  const text = await response.text()
  return text === '' ? {} : JSON.parse(text)
}

/** Postal has no metadata. */
const metadataOf = (service: string) => (service === 'Postal' ? null : expect.objectContaining({ order: '7' }))

/** What Anymail makes of what becomes of mail to each, beside `queued` for what is on its way. */
const understood: Record<string, Record<string, [type: string, reason: string | null][]>> = {
  SendGrid: {
    delivered: [['delivered', null]],
    bounced: [['bounced', null]],
    softbounced: [['bounced', null]],
    suppressed: [['rejected', 'other']],
    clicked: [
      ['clicked', null],
      ['delivered', null],
      ['opened', null],
    ],
    complained: [
      ['complained', null],
      ['delivered', null],
    ],
    unsubscribed: [
      ['delivered', null],
      ['unsubscribed', null],
    ],
  },
  Postmark: {
    delivered: [['delivered', null]],
    bounced: [['bounced', 'bounced']],
    softbounced: [['bounced', 'bounced']],
    // Postmark refuses such mail.
    suppressed: [],
    clicked: [
      ['clicked', null],
      ['delivered', null],
      ['opened', null],
    ],
    complained: [
      ['complained', 'spam'],
      ['delivered', null],
    ],
    unsubscribed: [
      ['delivered', null],
      ['unsubscribed', 'unsubscribed'],
    ],
  },
  Mailgun: {
    delivered: [['delivered', null]],
    bounced: [['bounced', 'bounced']],
    softbounced: [['bounced', 'other']],
    suppressed: [['bounced', 'bounced']],
    clicked: [
      ['clicked', null],
      ['delivered', null],
      ['opened', null],
    ],
    complained: [
      ['complained', null],
      ['delivered', null],
    ],
    unsubscribed: [
      ['delivered', null],
      ['unsubscribed', null],
    ],
  },
  Postal: {
    delivered: [['delivered', null]],
    bounced: [['failed', null]],
    softbounced: [['failed', null]],
    suppressed: [],
    // Anymail does not know MessageLoaded.
    clicked: [
      ['clicked', null],
      ['delivered', null],
      ['unknown', null],
    ],
    complained: [['delivered', null]],
    unsubscribed: [['delivered', null]],
  },
}

test.each(Object.keys(senders))('%s: Anymail understands what becomes of mail that was sent by this API', async (service) => {
  for (const [place, to] of recipients.entries()) {
    const id = await senders[service]!(to)
    const events = () => told.filter((event) => event.service === service && event.message_id === id && event.event_type !== 'queued')
    const wanted = understood[service]?.[people[place] ?? ''] ?? []
    await expect
      .poll(() =>
        events()
          .map(({ event_type: type, reject_reason: reason }) => [type, reason])
          .toSorted(),
      )
      .toEqual(wanted)
    for (const event of events()) {
      expect(event).toMatchObject({ recipient: to, tags: ['welcome'], metadata: metadataOf(service) })
      expect(event.timestamp).toBeGreaterThan(1.7e9)
      if (event.event_type === 'clicked') expect(event.click_url).toBe('https://simulator.test/')
      if (event.event_type === 'bounced' && place === 1) expect(event.mta_response).toContain('5.1.1')
    }
  }
})

test('no request was refused', async () => {
  await expect.poll(async () => new Set(await answered())).toEqual(new Set(['success']))
})
