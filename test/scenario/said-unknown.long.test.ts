import { simpleParser } from 'mailparser'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../src/platform/log.ts'
import { searchIndex } from '../../src/readers/search/search-index.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { composeDsn, headerOf, returnMail } from '../support/returned-mail.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const hour = 3_600_000
const day = 24 * hour

let mx: FakeMx
let relay: TestRelay
/** What the recipient's server says after the data, to those whose mail it refuses. */
let refusal: string | undefined

beforeAll(async () => {
  mx = await startFakeMx({ host: '127.0.0.4', on: { dot: () => refusal } })
  relay = await startTestRelay(
    { delivery_port: String(mx.port), return_path_messages_per_minute: '0', base_url: 'http://mail.test:8080' },
    { 'rcpt.example': { a: ['127.0.0.4'] } },
  )
})

afterAll(async () => {
  await relay.stop()
  await mx.close()
})

/** Everybody is somebody new, written to at six in the morning. */
let people = 0
let ann = ''
beforeEach(() => {
  ann = `ann${++people}@rcpt.example`
  relay.clock.set(Math.ceil(relay.clock.now() / day) * day + 6 * hour)
})

/** Mail that the recipient's server took. */
interface Delivered {
  id: string
  returnPath: string
  data: Buffer
}

const reaches = (id: string, state: string): Promise<void> => expect.poll(async () => (await relay.recipients(id))[ann]?.status).toBe(state)

async function deliver(fields: Record<string, unknown> = {}, auth: Record<string, string> = {}): Promise<Delivered> {
  const email = { from: 'app@sender.example', to: ann, subject: 'Hello', html: '<p>Hello</p>', ...fields }
  const { body } = await relay.call('POST', '/api/send', email, auth)
  const taken = () =>
    relay.relay.services.db.read("select id from recipient where message_id = :id and state = 'delivered'", { id: body.id })
  await expect.poll(taken).toHaveLength(1)
  const { mailFrom, data } = mx.messages.findLast(({ rcptTo }) => rcptTo[0] === ann)!
  return { id: body.id, returnPath: mailFrom, data }
}

const settled = () => expect.poll(() => relay.relay.services.db.read("select id from returned_mail where state = 'received'")).toEqual([])

const inWords = { status: '5.0.0', diagnostic: '550 No such user here' }

/** It comes back, with no more than words. */
async function comesBack(
  { returnPath }: Delivered,
  report: Parameters<typeof composeDsn>[0] = { recipient: ann, ...inWords },
): Promise<void> {
  await returnMail(relay.returnPathPort, returnPath, [composeDsn(report)])
  await settled()
}

/** Mail is delivered, and comes back. */
async function fails(): Promise<string> {
  const delivered = await deliver()
  await comesBack(delivered)
  await reaches(delivered.id, 'bounced')
  return delivered.id
}

/** Mail is refused after its data. */
async function isRefused(): Promise<string> {
  refusal = '550 No such user here'
  const id = await relay.send(ann)
  await reaches(id, 'bounced')
  refusal = undefined
  return id
}

const suppression = async (auth: Record<string, string> = {}): Promise<{ origin: string; source_id: string; reason: string } | null> => {
  const { status, body } = await relay.call('GET', `/api/suppressions/${ann}`, undefined, auth)
  return status === 200 ? body : null
}

const bounceOf = async (id: string): Promise<Record<string, unknown>> =>
  (await relay.call('GET', `/api/events?email_id=${id}&type=email.bounced`)).body.data[0].data

const indexed = () => searchIndex({ db: relay.relay.services.db, log: silentLog }).keepUp()

test.each([
  ['two reports', fails, fails],
  ['two refusals', isRefused, isRefused],
  ['a report and a refusal', fails, isRefused],
  ['a refusal and a report', isRefused, fails],
])('%s that only words call unknown, from two days, suppress, and say that it took two', async (_, first, second) => {
  const date = (): string => new Date(relay.clock.now()).toISOString().slice(0, 10)
  const firstDate = date()
  const before = await first()
  expect(await bounceOf(before)).toMatchObject({
    bounce_type: 'soft',
    bounce_category: 'invalid_recipient',
    reason: '550 No such user here',
  })
  expect(await suppression()).toBeNull()
  relay.clock.advance(day)
  const id = await second()
  const reason = `Reported twice as unknown, on ${firstDate} and ${date()}: 550 No such user here`
  expect(await suppression()).toMatchObject({ origin: 'bounce', source_id: id, reason })
  expect(await bounceOf(id)).toMatchObject({ bounce_type: 'soft', bounce_category: 'invalid_recipient', smtp_code: 550, reason })
  expect((await relay.recipients(id))[ann]).toMatchObject({ last_response: expect.stringContaining('550 No such user here') })
  await reaches(await relay.send(ann), 'suppressed')
})

test('two on one day do not suppress, nor two in one night; another the next day does, however many came before', async () => {
  await fails()
  relay.clock.advance(17 * hour)
  await fails()
  relay.clock.advance(2 * hour)
  expect(await suppression()).toBeNull()
  await isRefused()
  // The one in the morning of the day before was long ago.
  expect(await suppression()).not.toBeNull()

  ann = `late.${ann}`
  relay.clock.set(Math.ceil(relay.clock.now() / day) * day + 23 * hour)
  await fails()
  relay.clock.advance(2 * hour)
  await fails()
  expect(await suppression()).toBeNull()
  relay.clock.advance(10 * hour)
  await fails()
  expect(await suppression()).not.toBeNull()
})

test.each([
  ['before the index has it', () => Promise.resolve()],
  ['as the index has it', indexed],
])('a delivery between them shows that there is somebody, %s', async (_, index) => {
  await fails()
  relay.clock.advance(day)
  await deliver()
  await index()
  relay.clock.advance(day)
  await fails()
  expect(await suppression()).toBeNull()
  // From then on it takes one more.
  relay.clock.advance(day)
  await fails()
  expect(await suppression()).not.toBeNull()
})

test('a delivery of mail that was scheduled long before counts too', async () => {
  const scheduled = await relay.send(ann, { scheduled_at: new Date(relay.clock.now() + 10 * day).toISOString() })
  relay.clock.advance(9 * day)
  await fails()
  relay.clock.advance(day)
  await reaches(scheduled, 'delivered')
  await indexed()
  relay.clock.advance(day)
  await fails()
  expect(await suppression()).toBeNull()
})

test('mail that was delivered and came back was no delivery, in whatever order it did', async () => {
  await fails()
  relay.clock.advance(day)
  const together = [await deliver(), await deliver(), await deliver()]
  await comesBack(together[0]!)
  // The other two seem to have arrived.
  expect(await suppression()).toBeNull()
  await comesBack(together[2]!)
  await comesBack(together[1]!)
  expect(await suppression()).not.toBeNull()
})

const browser = {
  'user-agent':
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  accept: 'text/html',
  'accept-language': 'de-DE',
}
const machine = { 'user-agent': 'Mozilla/5.0' }

test.each([
  ['an open by a person between them, of mail from before, shows it too', 'o', browser, false],
  ['a click by a person between them shows it too', 'c', browser, false],
  ['an open by a machine between them shows nothing', 'o', machine, true],
])('%s', async (_, kind, headers, isSuppressed) => {
  const html = '<p>Hello</p><a href="https://shop.example/">Shop</a>'
  const { id, data } = await deliver({ html, tracking: { opens: true, clicks: true } })
  const page = (await simpleParser(data)).html || ''
  const url = new RegExp(`http://mail\\.test:8080(/t/${kind}/[\\w/-]+)`).exec(page)?.[1] ?? ''
  relay.clock.advance(day)
  await fails()
  relay.clock.advance(day)
  await fetch(relay.baseUrl + url, { headers, redirect: 'manual' })
  const hits = () => relay.relay.services.db.read('select bot from hit where message_id = :id', { id })
  await expect.poll(hits).toEqual([{ bot: isSuppressed ? 1 : 0 }])
  relay.clock.advance(day)
  await fails()
  expect((await suppression()) !== null).toBe(isSuppressed)
})

test('what another account was told counts for that one alone', async () => {
  const { accounts, apiKeys, sendingDomains } = relay.relay.services
  const other = await accounts.create('other', 'enterprise')
  const domain = await sendingDomains.add(other.id, 'other.example')
  await sendingDomains.verifyManually(domain.id)
  const { token } = await apiKeys.create({ accountId: other.id, name: 'other', permission: 'full_access' })
  const auth = { authorization: `Bearer ${token}` }
  await comesBack(await deliver({ from: 'app@other.example' }, auth))
  relay.clock.advance(day)
  await fails()
  expect([await suppression(), await suppression(auth)]).toEqual([null, null])
})

test('nothing is counted where the account does not suppress by hard bounces, nor of an address that mail was forwarded to', async () => {
  const { accounts, apiKeys } = relay.relay.services
  const { id } = accounts.getAccount('test')
  const { token } = await apiKeys.create({ accountId: id, name: 'op', permission: 'operator' })
  const policy = (hard_bounces: boolean | null) =>
    relay.call('PATCH', `/api/accounts/${id}/suppression-policy`, { hard_bounces }, { authorization: `Bearer ${token}` })
  await policy(false)
  for (const fail of [fails, isRefused]) {
    const last = await fail()
    expect(await bounceOf(last)).toMatchObject({ reason: '550 No such user here' })
    relay.clock.advance(day)
  }
  await policy(null)
  await fails()
  expect(await suppression()).toBeNull()

  ann = `forwards.${ann}`
  for (const _ of [1, 2]) {
    const delivered = await deliver()
    await comesBack(delivered, { recipient: 'somebody@elsewhere.example', ...inWords, original: headerOf(delivered.data) })
    await reaches(delivered.id, 'bounced')
    relay.clock.advance(day)
  }
  expect(await suppression()).toBeNull()
})

test('whoever removes the suppression begins anew, and erasing forgets the first', async () => {
  for (const _ of [1, 2]) {
    await fails()
    relay.clock.advance(day)
  }
  expect((await relay.call('DELETE', `/api/suppressions/${ann}`)).status).toBe(200)
  const before = await deliver()
  await fails()
  expect(await suppression()).toBeNull()

  const { body } = await relay.call('POST', '/api/erasures', { email: ann })
  await relay.relay.services.erasures.finished(body.id)
  relay.clock.advance(day)
  await fails()
  expect(await suppression()).toBeNull()
  // What comes back of mail from before counts for nobody.
  const { db } = relay.relay.services
  const now = () =>
    db.read<{ forward_path: string; state: string }>('select forward_path, state from recipient where message_id = :id', { id: before.id })
  const [erased] = await now()
  await comesBack(before, { recipient: erased?.forward_path ?? '', ...inWords })
  expect(await now()).toEqual([{ ...erased, state: 'bounced' }])
  expect(await db.read("select address from soft_bounce where address like '%erased.invalid'")).toEqual([])
})
