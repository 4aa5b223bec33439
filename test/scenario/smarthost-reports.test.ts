import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { reportServices, type ReportService } from '../../src/platform/config/report-services.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { headerOf } from '../support/returned-mail.ts'
import {
  mailgunReports,
  postmarkReports,
  sendgridReports,
  sesReports,
  topicArn,
  type ReportingService,
  type ServiceMail,
  type ServiceRequest,
} from '../support/service-reports.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { passTime, startTwoNodes } from '../support/two-nodes.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

const host = '127.0.4.7'
let mx: FakeMx
beforeAll(async () => {
  mx = await startFakeMx({ host })
})
afterAll(() => mx.close())

/** Everybody is somebody new. */
let people = 0
let ann = ''
beforeEach(() => {
  ann = `ann${++people}@rcpt.example`
})

const settingsFor = (service: ReportService, { key }: ReportingService): Record<string, string> => ({
  delivery_smarthost: `${host}:${mx.port}`,
  delivery_smarthost_reports: service,
  delivery_smarthost_reports_key: key,
  webhooks_allow_private_addresses: 'true',
})

const headerAt = (to: string): string => headerOf(mx.messages.findLast(({ rcptTo }) => rcptTo[0] === to)!.data)

async function post(baseUrl: string, service: string, { body, headers }: ServiceRequest): Promise<{ status: number; body: any }> {
  const answer = await fetch(`${baseUrl}/inbound/reports/${service}`, { method: 'POST', body, headers })
  return { status: answer.status, body: await answer.json() }
}

const serviceOf: Record<ReportService, () => ReportingService | Promise<ReportingService>> = {
  ses: sesReports,
  postmark: postmarkReports,
  mailgun: mailgunReports,
  sendgrid: sendgridReports,
}
const nameOf: Record<ReportService, string> = { ses: 'Amazon SES', postmark: 'Postmark', mailgun: 'Mailgun', sendgrid: 'SendGrid' }

describe.each(reportServices)('reports of %s', (service) => {
  let relay: TestRelay
  let reporting: ReportingService

  beforeAll(async () => {
    reporting = await serviceOf[service]()
    relay = await startTestRelay(
      settingsFor(service, reporting),
      {},
      reporting.fetchFromSns ? { fetchFromSns: reporting.fetchFromSns } : {},
    )
  })
  afterAll(() => relay.stop())

  const statusOf = async (id: string, to = ann): Promise<string | undefined> => (await relay.recipients(id))[to]?.status
  const now = (): number => relay.clock.now()
  const settled = () => expect.poll(() => relay.relay.services.db.read("select id from returned_mail where state = 'received'")).toEqual([])

  /** Mail that the smarthost took. */
  async function send(to = ann, fields: Record<string, unknown> = {}): Promise<{ id: string; mail: ServiceMail }> {
    const id = await relay.send(to, fields)
    await expect.poll(() => statusOf(id, to)).toBe('sent')
    return { id, mail: { to, header: headerAt(to) } }
  }

  async function take(request: ServiceRequest): Promise<unknown> {
    const { status: code, body } = await post(relay.baseUrl, service, request)
    expect(code, JSON.stringify(body)).toBe(200)
    await settled()
    return body
  }

  const taken = (count: number, ignored = 0) => ({ object: 'smarthost_reports', taken: count, ignored })
  const resultsOf = async (id: string): Promise<string[]> =>
    (await relay.call('GET', `/api/feedback?email_id=${id}`)).body.data.map((each: { result: string }) => each.result)
  const suppressionOf = async (): Promise<string | null> => {
    const { status: code, body } = await relay.call('GET', `/api/suppressions/${encodeURIComponent(ann)}`)
    return code === 200 ? body.origin : null
  }

  test('mail that was sent is delivered, once, and says who reported it', async () => {
    const receiver = await startReceiver(status(200))
    await relay.call('POST', '/api/webhooks', { url: receiver.url, events: ['email.delivered'] })
    const { id, mail } = await send()
    const request = reporting.report(mail, 'delivered', now())
    expect(await take(request)).toEqual(taken(1))
    expect(await statusOf(id)).toBe('delivered')
    const [event] = (await relay.call('GET', `/api/emails/${id}/events`)).body.data
    expect(event).toMatchObject({ type: 'email.delivered', data: { to: ann, reported_by: nameOf[service] } })
    const { body } = await relay.call('GET', `/api/emails/${id}`)
    expect(body.recipients[0]).toMatchObject({ delivered_at: expect.any(String), last_response: expect.stringContaining('250 2.0.0 OK') })
    // Again, as it was and anew.
    expect(await take(request)).toEqual(taken(1))
    expect(await take(reporting.report(mail, 'delivered', now() + 1_000))).toEqual(taken(1))
    expect(await resultsOf(id)).toEqual(['duplicate', 'duplicate', 'delivered'])
    expect(await relay.events(id)).toEqual(['email.delivered', 'email.relayed', 'email.sent', 'email.queued'])
    await expect.poll(() => receiver.posts.length).toBe(1)
    expect(Object.keys(JSON.parse(receiver.posts[0]!.body).data)).toEqual(['email_id', 'to', 'subject', 'delivered_at'])
  })

  test.each([
    ['hard', 'hard', 'invalid_recipient', 'bounce'],
    ['soft', 'soft', 'mailbox_full', null],
    ['dropped', 'hard', 'invalid_recipient', 'bounce'],
  ] as const)('mail that did not arrive bounces: %s', async (event, type, category, origin) => {
    const { id, mail } = await send()
    expect(await take(reporting.report(mail, event, now()))).toEqual(taken(1))
    expect(await statusOf(id)).toBe('bounced')
    const [bounced] = (await relay.call('GET', `/api/emails/${id}/events`)).body.data
    expect(bounced).toMatchObject({
      type: 'email.bounced',
      data: { bounce_type: type, bounce_category: category, reported_by: nameOf[service] },
    })
    expect(await suppressionOf()).toBe(origin)
    // What comes late changes nothing.
    expect(await take(reporting.report(mail, 'delivered', now()))).toEqual(taken(1))
    expect(await resultsOf(id)).toEqual(['no_effect', 'bounced'])
  })

  test('a delay changes nothing, and what follows counts', async () => {
    const { id, mail } = await send()
    expect(await take(reporting.report(mail, 'deferred', now()))).toEqual(taken(1))
    expect([await statusOf(id), await resultsOf(id)]).toEqual(['sent', ['delayed']])
    await take(reporting.report(mail, 'delivered', now()))
    expect(await statusOf(id)).toBe('delivered')
    await take(reporting.report(mail, 'hard', now()))
    expect(await statusOf(id)).toBe('bounced')
  })

  test('a complaint suppresses, and whoever unsubscribes is unsubscribed', async () => {
    const { id, mail } = await send()
    await take(reporting.report(mail, 'delivered', now()))
    await take(reporting.report(mail, 'complained', now()))
    expect([await statusOf(id), await suppressionOf()]).toEqual(['complained', 'complaint'])
    ann = `reader${people}@rcpt.example`
    const news = await send(ann, { unsubscribe: true })
    await take(reporting.report(news.mail, 'unsubscribed', now()))
    expect((await relay.events(news.id))[0]).toBe('email.unsubscribed')
  })

  test('opens are ignored, and so is what is about mail of others', async () => {
    const { id, mail } = await send()
    expect(await take(reporting.report(mail, 'opened', now()))).toEqual(taken(0, 1))
    const [first = ''] = /r[0-9a-hjkmnp-tv-z]{46}/.exec(mail.header) ?? []
    const forged = first.slice(0, -1) + (first.endsWith('0') ? '1' : '0')
    for (const header of ['From: app@other.example', mail.header.replaceAll(first, forged), mail.header.replaceAll(first, 'r')])
      expect(await take(reporting.report({ to: ann, header }, 'hard', now()))).toEqual(taken(0, 1))
    // Of another recipient, and with a token that is not for this.
    const { mailFrom } = mx.messages.findLast(({ rcptTo }) => rcptTo[0] === ann)!
    const bounceToken = mailFrom.split('@')[0]!
    expect(await take(reporting.report({ to: ann, header: mail.header.replaceAll(first, bounceToken) }, 'hard', now()))).toEqual(
      taken(0, 1),
    )
    expect([await statusOf(id), await resultsOf(id)]).toEqual(['sent', []])
  })

  test('what has no proof is refused and changes nothing', async () => {
    const { id, mail } = await send()
    const genuine = reporting.report(mail, 'delivered', now())
    const requests = [
      reporting.forge(mail, 'delivered', now()),
      {
        ...genuine,
        headers: { 'content-type': 'application/json' },
        body: genuine.body.replace(/"signature":"[^"]+"|"Signature":"[^"]+"/, '"signature":""'),
      },
      { body: '{}', headers: { 'content-type': 'application/json' } },
    ]
    for (const request of requests) {
      const refused = await post(relay.baseUrl, service, request)
      expect(refused).toMatchObject({ status: 401, body: { name: 'unverified_report' } })
    }
    expect([await statusOf(id), await resultsOf(id)]).toEqual(['sent', []])
    for (const other of reportServices.filter((each) => each !== service))
      expect(await post(relay.baseUrl, other, genuine)).toMatchObject({ status: 404, body: { name: 'not_found' } })
    const huge = { headers: genuine.headers, body: JSON.stringify({ text: 'x'.repeat(5 * 1024 * 1024) }) }
    expect((await post(relay.baseUrl, service, huge)).status).toBe(413)
  })
})

test('whoever guesses gets slow, and what is genuine still counts', async () => {
  const mailgun = mailgunReports()
  const relay = await startTestRelay({ ...settingsFor('mailgun', mailgun), http_failed_authentications_per_minute: '3' })
  onTestFinished(() => relay.stop())
  const id = await relay.send(ann)
  await expect.poll(async () => (await relay.recipients(id))[ann]?.status).toBe('sent')
  const mail = { to: ann, header: headerAt(ann) }
  const codes: number[] = []
  for (let time = 0; time < 5; time++)
    codes.push((await post(relay.baseUrl, 'mailgun', mailgun.forge(mail, 'hard', relay.clock.now()))).status)
  expect(codes).toEqual([401, 401, 401, 429, 429])
  expect((await post(relay.baseUrl, 'mailgun', mailgun.report(mail, 'delivered', relay.clock.now()))).status).toBe(200)
  await expect.poll(async () => (await relay.recipients(id))[ann]?.status).toBe('delivered')
})

test('only mail for a service that wants it has a field of that service', async () => {
  const mailgun = mailgunReports()
  const relay = await startTestRelay({ delivery_smarthost: `${host}:${mx.port}` })
  onTestFinished(() => relay.stop())
  await relay.send(ann)
  await expect.poll(() => mx.messages.some(({ rcptTo }) => rcptTo[0] === ann)).toBe(true)
  expect(headerAt(ann)).toContain('X-Sterna-Ref')
  expect(headerAt(ann)).not.toMatch(/X-Mailgun|X-PM-|X-SMTPAPI/i)
  const report = mailgun.report({ to: ann, header: headerAt(ann) }, 'delivered', relay.clock.now())
  expect(await post(relay.baseUrl, 'mailgun', report)).toMatchObject({ status: 404 })
})

test('mail that routes lead elsewhere has no field of the service', async () => {
  const other = await startFakeMx({ host: '127.0.4.8' })
  onTestFinished(() => other.close())
  const settings = { ...settingsFor('mailgun', mailgunReports()), delivery_port: String(other.port) }
  const relay = await startTestRelay(settings, { 'direct.example': { a: [other.host] } })
  onTestFinished(() => relay.stop())
  const { smarthosts, smarthostRoutes } = relay.relay.services
  await smarthosts.create({ name: 'other', host: other.host, port: other.port })
  for (const [recipientDomain, via] of [
    ['other.example', 'other'],
    ['direct.example', 'direct'],
  ] as const)
    await smarthostRoutes.create({ accountId: null, sendingDomain: null, provider: null, recipientDomain, via })
  await relay.send(['ann@other.example', 'ann@direct.example', ann])
  await other.waitForMessages(2)
  for (const { data } of other.messages) {
    expect(headerOf(data)).toMatch(/^X-Sterna-Ref: r\w{46}\r\n/m)
    expect(headerOf(data)).not.toMatch(/X-Mailgun/i)
  }
  await expect.poll(() => mx.messages.some(({ rcptTo }) => rcptTo[0] === ann)).toBe(true)
  expect(headerAt(ann)).toContain('X-Mailgun-Variables')
})

test('a signature of Mailgun counts for one body, and for half a day', async () => {
  const mailgun = mailgunReports()
  const relay = await startTestRelay(settingsFor('mailgun', mailgun))
  onTestFinished(() => relay.stop())
  const id = await relay.send(ann)
  await expect.poll(async () => (await relay.recipients(id))[ann]?.status).toBe('sent')
  const mail = { to: ann, header: headerAt(ann) }
  const { body, headers } = mailgun.report(mail, 'deferred', relay.clock.now())
  expect((await post(relay.baseUrl, 'mailgun', { body, headers })).status).toBe(200)
  const changed = JSON.stringify({
    ...JSON.parse(mailgun.report(mail, 'hard', relay.clock.now()).body),
    signature: JSON.parse(body).signature,
  })
  expect((await post(relay.baseUrl, 'mailgun', { body: changed, headers })).status).toBe(401)
  expect((await post(relay.baseUrl, 'mailgun', mailgun.report(mail, 'hard', relay.clock.now() - 13 * 3_600_000))).status).toBe(401)
  expect((await relay.recipients(id))[ann]?.status).toBe('sent')
})

test('a batch of SendGrid says of each email what became of it', async () => {
  const sendgrid = sendgridReports()
  const relay = await startTestRelay(settingsFor('sendgrid', sendgrid))
  onTestFinished(() => relay.stop())
  const addresses = Array.from({ length: 40 }, (_, place) => `batch${place}@rcpt.example`)
  const id = await relay.send(addresses)
  const states = async () => Object.values(await relay.recipients(id)).map((each) => each.status)
  await expect.poll(async () => new Set(await states())).toEqual(new Set(['sent']))
  const mails = addresses.map((to) => ({ to, header: headerAt(to) }))
  // Thousands of opens make it large, and are left out.
  const opens = Array.from({ length: 6_000 }, (_, place) => [mails[place % 40]!, 'opened'] as [ServiceMail, 'opened'])
  const told = mails.map((mail, place) => [mail, place % 2 === 0 ? 'delivered' : 'hard'] as [ServiceMail, 'delivered' | 'hard'])
  const request = sendgrid.together([...opens, ...told], relay.clock.now())
  expect(request.body.length).toBeGreaterThan(2 * 1024 * 1024)
  const answer = await post(relay.baseUrl, 'sendgrid', request)
  expect(answer).toEqual({ status: 200, body: { object: 'smarthost_reports', taken: 40, ignored: 6_000 } })
  await expect.poll(async () => (await states()).toSorted()).toEqual([...Array(20).fill('bounced'), ...Array(20).fill('delivered')])
})

describe('SNS', () => {
  async function relayWith(ses: ReportingService): Promise<TestRelay> {
    const relay = await startTestRelay(settingsFor('ses', ses), {}, { fetchFromSns: ses.fetchFromSns! })
    onTestFinished(() => relay.stop())
    return relay
  }

  test('a subscription to the topic of the setting is confirmed, to no other', async () => {
    const ses = await sesReports()
    const relay = await relayWith(ses)
    expect(await post(relay.baseUrl, 'ses', ses.confirmation(relay.clock.now(), topicArn.replace('events', 'others')))).toMatchObject({
      status: 401,
    })
    expect(ses.asked).toEqual([])
    expect(await post(relay.baseUrl, 'ses', ses.confirmation(relay.clock.now()))).toMatchObject({ status: 200, body: { taken: 0 } })
    expect(ses.asked).toEqual([expect.stringContaining('.pem'), expect.stringContaining('Action=ConfirmSubscription')])
    const elsewhere = { Type: 'SubscriptionConfirmation', MessageId: '1', Message: 'm', Token: 't', Timestamp: 't' }
    for (const SubscribeURL of [
      'https://example.com/?Action=ConfirmSubscription',
      'http://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription',
    ])
      expect((await post(relay.baseUrl, 'ses', ses.post({ ...elsewhere, SubscribeURL }))).status).toBe(401)
    expect(ses.asked).toHaveLength(2)
  })

  test('its certificate is fetched once, only from SNS, and signatures of both versions count', async () => {
    for (const version of ['1', '2'] as const) {
      const ses = await sesReports(version)
      const relay = await relayWith(ses)
      const notification = { Type: 'Notification', MessageId: '1', Message: '{}', Timestamp: 't' }
      for (let time = 0; time < 3; time++) expect((await post(relay.baseUrl, 'ses', ses.post(notification))).status).toBe(200)
      expect(ses.asked).toHaveLength(1)
      for (const SigningCertURL of [
        'https://sns.eu-central-1.amazonaws.com.example/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem',
        'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem',
        'http://sns.eu-central-1.amazonaws.com/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem',
        'https://sns.eu-central-1.amazonaws.com:8443/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem',
        'https://x@sns.eu-central-1.amazonaws.com/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem',
        'https://sns.eu-central-1.amazonaws.com/own-bucket/key.pem',
        ...['?', '?x', '#', '#x'].map(
          (end) => `https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem${end}`,
        ),
        'https://sns.eu-central-1.amazonaws.com/x/../SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem',
        'nonsense',
      ])
        expect((await post(relay.baseUrl, 'ses', ses.post({ ...notification, SigningCertURL }))).status).toBe(401)
      expect(ses.asked).toHaveLength(1)
    }
  })

  test('while SNS does not answer, it is to try again later', async () => {
    const ses = await sesReports()
    const relay = await relayWith({ ...ses, fetchFromSns: () => Promise.reject(new Error('connect ECONNREFUSED')) })
    expect(await post(relay.baseUrl, 'ses', ses.confirmation(relay.clock.now()))).toMatchObject({ status: 503 })
  })
})

test('a report counts at whichever node it arrives', async () => {
  const mailgun = mailgunReports()
  const { a, b } = await startTwoNodes(settingsFor('mailgun', mailgun))
  const { accounts, apiKeys, sendingDomains } = a.relay.services
  const account = await accounts.create('test', 'enterprise')
  await sendingDomains.verifyManually((await sendingDomains.add(account.id, 'sender.example')).id)
  const { token } = await apiKeys.create({ accountId: account.id, name: 'test', permission: 'full_access' })
  const sent = await a.call('POST', '/api/send', { token, body: { from: 'app@sender.example', to: ann, subject: 'Hello', text: 'Hello' } })
  expect(sent.status).toBe(200)
  const statusAt = async (node: typeof a) => (await node.call('GET', `/api/emails/${sent.body.id}`, { token })).body.recipients[0].status
  await expect.poll(() => statusAt(a)).toBe('sent')
  await passTime(1_000, a, b)
  const request = mailgun.report({ to: ann, header: headerAt(ann) }, 'delivered', b.clock.now())
  expect((await post(b.baseUrl, 'mailgun', request)).status).toBe(200)
  await expect.poll(() => statusAt(a)).toBe('delivered')
})
