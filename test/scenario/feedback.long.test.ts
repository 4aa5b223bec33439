import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/clients/command/command-line.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { composeComplaint, composeDsn, composeVacation, headerOf, returnMail } from '../support/returned-mail.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

let mx: FakeMx
let relay: TestRelay

beforeAll(async () => {
  mx = await startFakeMx({ host: '127.0.0.3' })
  relay = await startTestRelay(
    { delivery_port: String(mx.port), webhooks_allow_private_addresses: 'true', return_path_messages_per_minute: '0' },
    { 'rcpt.example': { a: ['127.0.0.3'] } },
  )
})

afterAll(async () => {
  await relay.stop()
  await mx.close()
})

/** Everybody is somebody new. */
let people = 0
let ann = ''
beforeEach(() => {
  ann = `ann${++people}@rcpt.example`
})

interface Delivered {
  id: string
  /** The reverse-path, where reports go to. */
  returnPath: string
  data: Buffer
}

/** Mail that the recipient's server took. */
async function deliver(to = ann, fields: Record<string, unknown> = {}): Promise<Delivered> {
  const id = await relay.send(to, fields)
  await expect.poll(() => statusOf(id, to)).toBe('delivered')
  const { mailFrom, data } = mx.messages.findLast(({ rcptTo }) => rcptTo[0] === to)!
  return { id, data, returnPath: mailFrom }
}

const statusOf = async (id: string, to = ann): Promise<string | undefined> => (await relay.recipients(id))[to]?.status

const report = (to: string, text: string) => returnMail(relay.returnPathPort, to, [text])

interface Shown {
  id: string
  purpose: string
  result: string | null
  email_id: string | null
  summary: any
}

/** What the operator sees of the newest reports, the oldest first. */
async function shown(count: number): Promise<Shown[]> {
  const rows = await relay.relay.services.db.read<{ id: string; state: string }>('select id, state from returned_mail order by id')
  expect(rows.every(({ state }) => state === 'done')).toBe(true)
  const { data } = await operator('GET', `/api/feedback?limit=${count}`)
  return data.toReversed()
}

let operatorToken = ''
async function operator(method: string, path: string, sent?: unknown): Promise<any> {
  operatorToken ||= (
    await relay.relay.services.apiKeys.create({
      accountId: relay.relay.services.accounts.getAccount('test').id,
      name: 'op',
      permission: 'operator',
    })
  ).token
  const { status: code, body } = await relay.call(method, path, sent, { authorization: `Bearer ${operatorToken}` })
  expect(code).toBe(200)
  return body
}

async function command(...argv: string[]): Promise<string> {
  const { stdout, stderr, exitCode } = await runCommand({ argv, cwd: '/' }, relay.relay.services)
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
  return stdout
}

const settled = () => expect.poll(() => relay.relay.services.db.read("select id from returned_mail where state = 'received'")).toEqual([])

const suppressionOf = async (address = ann): Promise<{ origin: string; source_id: string; reason: string } | null> => {
  const { status: code, body } = await relay.call('GET', `/api/suppressions/${encodeURIComponent(address)}`)
  return code === 200 ? body : null
}

describe('a report that mail did not arrive after all', () => {
  test('bounces the recipient, hard with a suppression, and is told once', async () => {
    const receiver = await startReceiver(status(200))
    await relay.call('POST', '/api/webhooks', { url: receiver.url, events: ['email.bounced'] })
    const before = (await relay.call('GET', '/api/analytics?metrics=sent,delivered,bounced,bounced_permanent')).body.totals
    const { id, returnPath } = await deliver()
    await report(returnPath, composeDsn({ recipient: ann, diagnostic: '550 5.1.1 <ann>: user unknown' }))
    await expect.poll(() => statusOf(id)).toBe('bounced')
    expect(await relay.events(id)).toEqual(['email.bounced', 'email.delivered', 'email.sent', 'email.queued'])
    const { body } = await relay.call('GET', `/api/emails/${id}`)
    expect(body).toMatchObject({ status: 'bounced', last_event: 'bounced' })
    expect(body.recipients[0]).toMatchObject({
      smtp_code: 550,
      enhanced_status: '5.1.1',
      delivered_at: expect.any(String),
      bounced_at: expect.any(String),
    })
    expect(await suppressionOf()).toMatchObject({ origin: 'bounce', source_id: id, reason: expect.stringContaining('user unknown') })
    await expect.poll(() => receiver.posts.length).toBe(1)
    expect(Object.keys(JSON.parse(receiver.posts[0]!.body).data)).toEqual([
      'email_id',
      'to',
      'subject',
      'bounced_at',
      'bounce_type',
      'bounce_category',
      'smtp_code',
      'enhanced_status',
      'reason',
      'cause',
      'owner',
    ])
    expect(JSON.parse(receiver.posts[0]!.body).data).toMatchObject({ to: ann, bounce_type: 'hard', bounce_category: 'invalid_recipient' })
    const after = (await relay.call('GET', '/api/analytics?metrics=sent,delivered,bounced,bounced_permanent')).body.totals
    for (const metric of ['sent', 'delivered', 'bounced', 'bounced_permanent']) expect(after[metric] - before[metric]).toBe(1)
    expect(await relay.send(ann).then((next) => statusOf(next))).toBe('suppressed')
  })

  test('that comes many times and by ten connections at once has one event, one suppression and one webhook', async () => {
    const times = Number(process.env['STERNA_REPEATED_REPORTS'] ?? 100)
    const receiver = await startReceiver(status(200))
    await relay.call('POST', '/api/webhooks', { url: receiver.url, events: ['email.bounced'] })
    const { id, returnPath } = await deliver()
    const text = composeDsn({ recipient: ann })
    const ofConnection = Array.from({ length: times / 10 }, () => text)
    const replies = await Promise.all(Array.from({ length: 10 }, () => returnMail(relay.returnPathPort, returnPath, ofConnection)))
    expect(replies.flat().filter(({ code }) => code === 250)).toHaveLength(times)
    await settled()
    expect((await relay.events(id)).filter((type) => type === 'email.bounced')).toHaveLength(1)
    const { body } = await relay.call('GET', '/api/suppressions?limit=100')
    expect(body.data.filter(({ email }: { email: string }) => email === ann)).toHaveLength(1)
    await expect.poll(() => receiver.posts.length).toBe(1)
    const results = await relay.relay.services.db.read(
      'select result, count(*) as count from returned_mail where message_id = :id group by result',
      { id },
    )
    expect(results).toEqual([
      { result: 'bounced', count: 1 },
      { result: 'duplicate', count: times - 1 },
    ])
  })

  test('for a reason that is not the recipient is soft and suppresses nobody', async () => {
    const { id, returnPath } = await deliver()
    await report(returnPath, composeDsn({ recipient: ann, status: '5.7.1', diagnostic: '554 5.7.1 blocked using a blocklist' }))
    await expect.poll(() => statusOf(id)).toBe('bounced')
    expect(await suppressionOf()).toBeNull()
  })

  test('in words that nobody understands is known by its address, and soft', async () => {
    const { id, returnPath } = await deliver()
    await report(returnPath, 'From: MAILER-DAEMON@mx.rcpt.example\r\nSubject: E 17\r\n\r\nWrite to postmaster@mx.rcpt.example.\r\n')
    await expect.poll(() => statusOf(id)).toBe('bounced')
    expect(await suppressionOf()).toBeNull()
  })

  test('of an address that the mail was forwarded to is soft, where it brings our message back', async () => {
    const { id, returnPath, data } = await deliver()
    await report(returnPath, composeDsn({ recipient: 'somebody@elsewhere.example', original: headerOf(data) }))
    await expect.poll(() => statusOf(id)).toBe('bounced')
    expect(await suppressionOf()).toBeNull()
  })
})

describe('a suppression that a report leads to', () => {
  test('stops mail that was accepted before it', async () => {
    const { returnPath } = await deliver()
    const later = await relay.send(ann, { scheduled_at: new Date(relay.clock.now() + 3_600_000).toISOString() })
    await report(returnPath, composeDsn({ recipient: ann }))
    await expect.poll(() => suppressionOf()).not.toBeNull()
    relay.clock.advance(3_600_000)
    await expect.poll(() => statusOf(later)).toBe('suppressed')
    expect(mx.messages.filter(({ rcptTo }) => rcptTo[0] === ann)).toHaveLength(1)
  })

  test('is made as the account is set', async () => {
    const path = `/api/accounts/${relay.relay.services.accounts.getAccount('test').id}/suppression-policy`
    expect(await operator('PATCH', path, { hard_bounces: false })).toMatchObject({
      hard_bounces: false,
      complaints: true,
      soft_bounces: 0,
      expiry_seconds: 0,
    })
    const { id, returnPath } = await deliver()
    await report(returnPath, composeDsn({ recipient: ann }))
    await expect.poll(() => statusOf(id)).toBe('bounced')
    expect(await suppressionOf()).toBeNull()
    expect(await operator('PATCH', path, { hard_bounces: null, expiry_seconds: 60 })).toMatchObject({ hard_bounces: true })
    const next = await deliver()
    await report(next.returnPath, composeDsn({ recipient: ann }))
    await expect.poll(() => suppressionOf()).toMatchObject({ expires_at: expect.any(String) })
    relay.clock.advance(60_000)
    expect(await suppressionOf()).toBeNull()
    await operator('PATCH', path, { expiry_seconds: null })
  })
})

test('a report that was taken, but not looked at when the relay stopped, is looked at by the next', async () => {
  const delivered = await Promise.all(Array.from({ length: 5 }, (_, i) => deliver(`${i}.${ann}`)))
  await Promise.all(delivered.map(({ returnPath }, i) => report(returnPath, composeDsn({ recipient: `${i}.${ann}` }))))
  await relay.restart()
  for (const [i, { id }] of delivered.entries()) {
    await expect.poll(() => statusOf(id, `${i}.${ann}`)).toBe('bounced')
    expect((await relay.events(id)).filter((type) => type === 'email.bounced')).toHaveLength(1)
  }
})

test('what cannot be read is kept and shown with the reason, and the next report is read', async () => {
  const { id, returnPath } = await deliver()
  const manyParts = `Subject: bomb\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n${'--x\r\n\r\n\r\n'.repeat(150_000)}`
  await report(returnPath, manyParts)
  await report(returnPath, composeDsn({ recipient: ann }))
  await expect.poll(() => statusOf(id)).toBe('bounced')
  await settled()
  const [bomb] = await shown(2)
  expect(bomb).toMatchObject({ result: 'not_understood', email_id: null })
  expect(await operator('GET', `/api/feedback/${bomb!.id}`)).toMatchObject({
    reading: null,
    fault: expect.stringContaining('cannot be read'),
  })
})

describe('what changes nothing is kept and shown', () => {
  test.each([
    ['a delay', () => composeDsn({ recipient: ann, action: 'delayed', status: '4.4.1', diagnostic: '451 4.4.1 timed out' }), 'delayed'],
    ['an automatic reply', composeVacation, 'autoreply'],
    ['a report of somebody else', () => composeDsn({ recipient: 'bob@rcpt.example' }), 'other_recipient'],
    ['a report of success', () => composeDsn({ recipient: ann, action: 'delivered', status: '2.0.0', diagnostic: '250 ok' }), 'delivered'],
    ['anything else', () => 'From: ann@rcpt.example\r\nSubject: Question\r\n\r\nHow do I change my address?\r\n', 'no_report'],
  ])('%s', async (_, text, result) => {
    const { id, returnPath } = await deliver()
    await report(returnPath, text())
    await settled()
    expect(await statusOf(id)).toBe('delivered')
    expect(await relay.events(id)).toEqual(['email.delivered', 'email.sent', 'email.queued'])
    const [row] = await shown(1)
    expect(row).toMatchObject({ purpose: 'bounce', result, email_id: id })
    const response = await fetch(`${relay.baseUrl}/api/feedback/${row!.id}/content`, {
      headers: { authorization: `Bearer ${operatorToken}` },
    })
    expect(response.headers.get('content-type')).toBe('message/rfc822')
    expect(await response.text()).toContain(text())
    expect(await command('feedback', 'list', '--result', result)).toContain(row!.id)
    expect(JSON.parse(await command('feedback', 'show', row!.id))).toEqual(await operator('GET', `/api/feedback/${row!.id}`))
  })

  test('mail for the postmaster, with who wrote it and about what', async () => {
    await report('postmaster@relay.example', 'From: Ann <ann@rcpt.example>\r\nSubject: Question\r\n\r\nWhy do you write to me?\r\n')
    await settled()
    const [row] = await shown(1)
    expect(row).toMatchObject({ purpose: 'postmaster', result: 'stored', email_id: null })
    expect(await operator('GET', `/api/feedback/${row!.id}`)).toMatchObject({
      reading: null,
      heading: { from: expect.stringContaining('ann@rcpt.example'), subject: 'Question' },
    })
  })
})

describe('a complaint to the feedback loop address', () => {
  const redacted = (data: Buffer): string =>
    data
      .toString('utf8')
      .replaceAll(ann, 'redacted@rcpt.example')
      .replace(/^(?:return-path|to|received):.*(?:\r\n[ \t].*)*\r\n/gim, '')

  test('that is redacted is matched by the reference of the message', async () => {
    const { id, data } = await deliver()
    await report('fbl@relay.example', composeComplaint({ original: redacted(data) }))
    await expect.poll(() => statusOf(id)).toBe('complained')
    const { body } = await relay.call('GET', `/api/emails/${id}/events?limit=1`)
    expect(body.data[0]).toMatchObject({
      type: 'email.complained',
      data: { to: ann, feedback_type: 'abuse', reported_by: 'ProviderFBL/1.0', complained_at: expect.any(String) },
    })
    expect(await suppressionOf()).toMatchObject({ origin: 'complaint', source_id: id })
  })

  test('that has only the header of the message, without its addresses, is matched by the reference too', async () => {
    const { id, data } = await deliver()
    const header = headerOf(Buffer.from(redacted(data)), ['message-id', 'from'])
    const text = composeComplaint({ original: '' })
      .replace('Content-Type: message/rfc822', 'Content-Type: text/rfc822-headers')
      .replace('\r\n\r\n\r\n\r\n--complaint--', `\r\n\r\n${header}\r\n\r\n--complaint--`)
    expect(text).toContain('X-Sterna-Ref')
    await report('fbl@relay.example', text)
    await expect.poll(() => statusOf(id)).toBe('complained')
  })

  test.each([
    ['without a token of the message', () => composeComplaint({ original: `To: ${ann}\r\nSubject: Hello\r\n\r\nHello` }), 'no_token'],
    ['that is a report of failure', (data: Buffer) => composeDsn({ recipient: ann, original: headerOf(data) }), 'no_report'],
    ['that calls it no spam', (data: Buffer) => composeComplaint({ type: 'not-spam', original: data.toString('utf8') }), 'no_effect'],
  ])('%s changes nothing', async (_, compose, result) => {
    const { id, data } = await deliver()
    await report('fbl@relay.example', compose(data))
    await settled()
    expect(await statusOf(id)).toBe('delivered')
    expect(await suppressionOf()).toBeNull()
    expect((await shown(1))[0]).toMatchObject({ purpose: 'complaint', result })
  })

  test('that opts out unsubscribes, where the mail can be unsubscribed from', async () => {
    const complaint = (data: Buffer): string => composeComplaint({ type: 'opt-out', original: redacted(data) })
    const newsletter = await deliver(ann, { unsubscribe: { topic: 'news' } })
    await report('fbl@relay.example', complaint(newsletter.data))
    await expect.poll(() => relay.events(newsletter.id)).toContain('email.unsubscribed')
    expect(await statusOf(newsletter.id)).toBe('delivered')
    const receipt = await deliver()
    await report('fbl@relay.example', complaint(receipt.data))
    await expect.poll(() => statusOf(receipt.id)).toBe('complained')
  })

  test('after a bounce is told, and suppresses', async () => {
    const { id, returnPath, data } = await deliver()
    await report(returnPath, composeDsn({ recipient: ann, status: '5.2.2', diagnostic: '552 5.2.2 mailbox full' }))
    await expect.poll(() => statusOf(id)).toBe('bounced')
    await report('fbl@relay.example', composeComplaint({ original: redacted(data) }))
    await expect.poll(() => relay.events(id)).toContain('email.complained')
    expect(await statusOf(id)).toBe('bounced')
    expect(await suppressionOf()).toMatchObject({ origin: 'complaint' })
  })
})

test('what a smarthost took bounces by its report, and is not delivered by its word', async () => {
  const passing = await startTestRelay({ delivery_smarthost: `127.0.0.3:${mx.port}` })
  onTestFinished(() => passing.stop())
  const [id, other] = [await passing.send(ann), await passing.send(`other.${ann}`)]
  const stateOf = async (email: string, address: string) => (await passing.recipients(email))[address]?.status
  await expect.poll(() => stateOf(id, ann)).toBe('sent')
  await expect.poll(() => stateOf(other, `other.${ann}`)).toBe('sent')
  const returnPathOf = (address: string) => mx.messages.findLast(({ rcptTo }) => rcptTo[0] === address)!.mailFrom
  const success = composeDsn({ recipient: `other.${ann}`, action: 'delivered', status: '2.0.0', diagnostic: '250 ok' })
  await returnMail(passing.returnPathPort, returnPathOf(`other.${ann}`), [success])
  await returnMail(passing.returnPathPort, returnPathOf(ann), [composeDsn({ recipient: ann })])
  await expect.poll(() => stateOf(id, ann)).toBe('bounced')
  expect(await passing.events(id)).toContain('email.bounced')
  expect(await stateOf(other, `other.${ann}`)).toBe('sent')
})

test.each([
  ['192.0.2.0/24', 'get the share of any network', [250, 452, 452]],
  ['127.0.0.0/8', 'are taken, however many come in a day', [250, 250, 250]],
])('where %s is the source of complaints, those from 127.0.0.1 %s, and other reports their share', async (complaint_sources, _, codes) => {
  const small = await startTestRelay({ return_path_complaint_sources: complaint_sources, return_path_storage_limit: '64KB' })
  onTestFinished(() => small.stop())
  const complaint = composeComplaint({ original: 'From: app@sender.example\r\nSubject: Hello' })
  const answers = async (to: string): Promise<number[]> =>
    (await returnMail(small.returnPathPort, to, [complaint, complaint, complaint])).map(({ code }) => code)
  expect(await answers('fbl@relay.example')).toEqual(codes)
  expect(await answers('dmarc-reports@relay.example')).toContain(452)
})

test('where the sources of complaints are set, those of others are kept and change nothing', async () => {
  const particular = await startTestRelay(
    { delivery_port: String(mx.port), return_path_complaint_sources: '192.0.2.0/24' },
    { 'rcpt.example': { a: ['127.0.0.3'] } },
  )
  onTestFinished(() => particular.stop())
  const id = await particular.send(ann)
  await expect.poll(() => particular.events(id)).toContain('email.delivered')
  const { data, mailFrom } = mx.messages.findLast(({ rcptTo }) => rcptTo[0] === ann)!
  for (const to of ['fbl@relay.example', mailFrom])
    await returnMail(particular.returnPathPort, to, [composeComplaint({ original: data.toString('utf8') })])
  const { db } = particular.relay.services
  await expect
    .poll(() => db.read('select result from returned_mail'))
    .toEqual([{ result: 'source_not_believed' }, { result: 'source_not_believed' }])
  expect((await particular.recipients(id))[ann]?.status).toBe('delivered')
})
