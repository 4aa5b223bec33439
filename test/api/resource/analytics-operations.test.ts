import { expect, test } from 'vitest'
import { metrics } from '../../../src/readers/analytics/metric.ts'
import { analyticsReader } from '../../../src/readers/analytics/rollup.ts'
import { recordEvent } from '../../../src/mail/event/event-log.ts'
import type { EventType } from '../../../src/mail/event/event-type.ts'
import { analyticsOperations } from '../../../src/api/resource/analytics-operations.ts'
import { newId } from '../../../src/platform/id.ts'
import { startApiServer } from '../../support/api-server.ts'
import { logOf, startCountedStore, start, writeLog, type Told } from '../../support/counted-mail.ts'

const hour = 3_600_000

async function startApi() {
  const api = await startApiServer((services) => analyticsOperations({ ...services, rollup: analyticsReader(services) }))
  const token = await api.token()
  const { id: accountId } = api.accounts.getAccount('acme')
  /** As it stands in the log once a message of the domain was sent. */
  const tell = async (types: EventType[], { sandbox = false, to = accountId } = {}) => {
    const subject = {
      accountId: to,
      messageId: newId('em', api.clock.now()),
      recipientId: newId('rcp', api.clock.now()),
      to: 'a@b.example',
      subject: '',
      sandbox,
    }
    await api.db.write(types.map((type) => recordEvent(subject, type, { bounce_type: 'hard', bot: false }, api.clock.now())))
  }
  const get = (query = '', key = token, path = 'analytics') => api.request('GET', `/api/${path}${query}`, { token: key })
  return { ...api, accountId, tell, get }
}

test('the counts of the last seven days, under both of its names, with every metric', async () => {
  const { get, tell, token } = await startApi()
  for (let i = 0; i < 3; i++) await tell(['email.sent', 'email.delivered', 'email.opened', 'email.opened'])
  await tell(['email.sent', 'email.bounced'])
  await tell(['email.sent', 'email.delivered'], { sandbox: true })
  await tell(['email.sent'], { to: 'acc_other' })
  const { status, body } = await get()
  expect(status).toBe(200)
  expect(body).toEqual({
    object: 'metrics',
    start_date: '2026-11-15T00:00:00.000Z',
    end_date: '2026-11-21T06:00:00.000Z',
    granularity: 'daily',
    metrics: [...metrics],
    dimensions: [],
    totals: expect.anything(),
  })
  expect(body.totals).toEqual({
    sent: 4,
    delivered: 3,
    opened: 6,
    clicked: 0,
    bot_opened: 0,
    bot_clicked: 0,
    bounced: 1,
    bounced_permanent: 1,
    bounced_transient: 0,
    complained: 0,
    unsubscribed: 0,
    suppressed: 0,
    failed: 0,
    delivery_delayed: 0,
    unique_opened: 3,
    unique_clicked: 0,
    delivered_encrypted: 0,
    delivered_unencrypted: 0,
    delivery_rate: 0.75,
    open_rate: 1,
    click_rate: 0,
    bounce_rate: 0.25,
    complaint_rate: 0,
    unsubscribe_rate: 0,
    encryption_rate: 0,
  })
  expect((await get('', undefined, 'emails/metrics')).body.totals).toMatchObject({ sent: 4 })
  expect((await get('', await token({ account: 'other' }))).body.totals).toMatchObject({ sent: 0, delivery_rate: 0 })
  expect((await get('', await token({ permission: 'sending_access' }))).status).toBe(403)
})

test('by period, domain and tag, in the zone that is asked for', async () => {
  const { get, tell, clock } = await startApi()
  await tell(['email.sent'])
  clock.advance(20 * hour)
  await tell(['email.sent', 'email.delivered'])
  const query = '?start_date=2026-11-20&end_date=2026-11-22&metrics=sent,delivery_rate&dimensions=period'
  expect((await get(query)).body).toMatchObject({
    start_date: '2026-11-20T00:00:00.000Z',
    end_date: '2026-11-23T00:00:00.000Z',
    metrics: ['sent', 'delivery_rate'],
    totals: { sent: 2, delivery_rate: 0.5 },
    data: [
      { period: '2026-11-20', sent: 0, delivery_rate: 0 },
      { period: '2026-11-21', sent: 1, delivery_rate: 0 },
      { period: '2026-11-22', sent: 1, delivery_rate: 1 },
    ],
  })
  const inLosAngeles = (await get(`${query}&timezone=America/Los_Angeles`)).body
  expect(inLosAngeles).toMatchObject({ start_date: '2026-11-20T08:00:00.000Z', data: [{ sent: 1 }, { sent: 1 }, { sent: 0 }] })
  expect((await get(query.replace('period', 'domain'))).body.data).toEqual([
    { domain_id: null, domain_name: null, sent: 2, delivery_rate: 0.5 },
  ])
  expect((await get(query.replace('period', 'tag'))).body.data).toEqual([])
  expect((await get(`${query}&domain_id=dom_1`)).body.totals).toEqual({ sent: 0, delivery_rate: 0 })
  expect((await get(`${query}&granularity=hourly`)).body.data).toHaveLength(72)
  expect((await get(`?domain_id=${'dom_1,'.repeat(101)}`)).status).toBe(422)
})

test.each([
  'start_date=2026-11-21&end_date=2026-11-20',
  'start_date=soon',
  'granularity=yearly',
  'timezone=Mars',
  'metrics=sent,received',
  'dimensions=email',
  'dimensions=tag,template',
  'dimensions=provider&tag=campaign=spring',
  'compare=next',
  'format=xml',
  'start_date=2024-01-01&granularity=hourly&dimensions=period',
])('%s is refused', async (query) => {
  const { get } = await startApi()
  expect(await get(`?${query}`)).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } })
})

/** Mail of an account in October: what happened at the time that the mail of the support file has. */
async function startCountedApi() {
  const api = await startApiServer((services) => analyticsOperations({ ...services, rollup: analyticsReader(services) }))
  await startCountedStore(api.db)
  await api.accounts.load()
  const token = await api.token({ account: 'acc_one' })
  const happened = { recipient: 0, bot: false, link: 0, hit: 0 }
  const told: Told[] = [
    { ...happened, kind: 'sent', message: 1, at: start },
    { ...happened, kind: 'delivered', message: 1, at: start + 6_200 },
    { ...happened, kind: 'delivered', message: 2, at: start + 99_700, recipient: 1 },
    { ...happened, kind: 'opened', message: 1, at: start + 10_000, bot: true },
    { ...happened, kind: 'clicked', message: 1, at: start + 20_000 },
    { ...happened, kind: 'clicked', message: 1, at: start + 21_000, link: 1 },
    { ...happened, kind: 'clicked', message: 1, at: start + 22_000, link: 2, bot: true },
    { ...happened, kind: 'bounced_transient', message: 2, at: start + 5_000 },
    { ...happened, kind: 'suppressed', message: 2, at: start + 5_000, recipient: 2 },
  ]
  await writeLog(api.db, logOf(told, []))
  await api.db.write([
    {
      sql: `insert into template (id, account_id, name, draft_version_id, revision, created_at, updated_at) values ('tpl_a', 'acc_one', '=HYPERLINK("x")', 'tpv_1', 1, 0, 0)`,
    },
  ])
  const dates = 'start_date=2026-10-20&end_date=2026-10-20'
  const get = (path: string, headers = {}) => api.request('GET', `/api/analytics${path}${dates}`, { token, headers })
  const getText = async (path: string, headers = {}) => {
    const response = await fetch(`${api.url}/api/analytics${path}${dates}`, { headers: { authorization: `Bearer ${token}`, ...headers } })
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      file: response.headers.get('content-disposition'),
      text: await response.text(),
    }
  }
  return { ...api, get, getText, token }
}

test('by template, provider, campaign and bounce category, machines apart', async () => {
  const { get } = await startCountedApi()
  const metricsOf = 'metrics=sent,delivered,opened,clicked,bot_opened,bot_clicked,unique_opened,unique_clicked,bounced,suppressed'
  const data = async (by: string) => (await get(`?dimensions=${by}&${metricsOf}&`)).body.data
  const none = {
    sent: 0,
    delivered: 0,
    opened: 0,
    clicked: 0,
    bot_opened: 0,
    bot_clicked: 0,
    unique_opened: 0,
    unique_clicked: 0,
    bounced: 0,
    suppressed: 0,
  }
  const mail1 = {
    ...none,
    sent: 1,
    delivered: 1,
    opened: 1,
    clicked: 3,
    bot_opened: 1,
    bot_clicked: 1,
    unique_opened: 1,
    unique_clicked: 1,
  }
  const mail2 = { ...none, delivered: 1, bounced: 1, suppressed: 1 }
  expect(await data('template')).toEqual([
    { template_id: 'tpl_a', template_name: '=HYPERLINK("x")', ...mail1 },
    { template_id: 'tpl_b', template_name: null, ...mail2 },
  ])
  expect(await data('campaign')).toEqual([{ campaign: 'spring', ...mail2 }])
  expect(await data('provider')).toEqual([
    { provider: null, ...none, bounced: 1 },
    { provider: 'google', ...mail1, delivered: 2 },
    { provider: 'other', ...none, suppressed: 1 },
  ])
  expect(await data('bounce_category')).toEqual([
    { bounce_category: 'mailbox_full', ...none, bounced: 1 },
    { bounce_category: 'suppressed', ...none, suppressed: 1 },
  ])
  expect(await data('cause')).toEqual([
    { cause: 'mailbox_full', owner: 'recipient', ...none, bounced: 1 },
    { cause: 'suppressed', owner: 'sender', ...none, suppressed: 1 },
  ])
  expect(await data('period,provider')).toHaveLength(3)
})

test('how long deliveries take, by provider unless asked otherwise, and over all', async () => {
  const { get, getText } = await startCountedApi()
  const { body } = await get('/latency?')
  expect(body).toMatchObject({ object: 'latency', dimensions: ['provider'], totals: { delivered: 2 } })
  // 1.2 s from when it was scheduled for, and 100 s.
  expect(body.data).toEqual([{ provider: 'google', delivered: 2, p50_ms: 1_125, p90_ms: 112_500, p95_ms: 112_500, p99_ms: 112_500 }])
  expect((await get('/latency?dimensions=period,domain&')).body.data).toMatchObject([
    { period: '2026-10-20', domain_id: 'dom_a', delivered: 1 },
    { period: '2026-10-20', domain_id: 'dom_b', delivered: 1 },
  ])
  expect((await getText('/latency?format=csv&')).text).toBe(
    'provider,delivered,p50_ms,p90_ms,p95_ms,p99_ms\r\ngoogle,2,1125,112500,112500,112500\r\n',
  )
})

test('the links of an email as they stand in it, and of a template without what is one reader’s', async () => {
  const { get, getText, request, token } = await startCountedApi()
  expect((await get('/links?email_id=em_1&')).body.data).toEqual([
    { link: 'https://shop.example/offer?utm_source=x&"bot":true', clicked: 1, bot_clicked: 0, unique_clicked: 1 },
    { link: 'https://shop.example/offer?utm_source=y', clicked: 1, bot_clicked: 0, unique_clicked: 1 },
    { link: 'https://shop.example/unsubscribe/ann%40example.com', clicked: 1, bot_clicked: 1, unique_clicked: 0 },
  ])
  expect((await get('/links?template_id=tpl_a&')).body.data).toEqual([
    { link: 'https://shop.example/offer', clicked: 2, bot_clicked: 0, unique_clicked: 1 },
    { link: 'https://shop.example/unsubscribe/*', clicked: 1, bot_clicked: 1, unique_clicked: 0 },
  ])
  expect((await get('/links?template_id=tpl_none&')).body.data).toEqual([])
  // Another account's, and one of the sandbox.
  for (const id of ['em_4', 'em_3', 'em_none']) expect((await get(`/links?email_id=${id}&`)).status).toBe(404)
  for (const query of ['', '?email_id=em_1&template_id=tpl_a'])
    expect((await request('GET', `/api/analytics/links${query}`, { token })).status).toBe(422)
  expect((await getText('/links?email_id=em_1&', { accept: 'text/csv' })).text).toContain(
    '"https://shop.example/offer?utm_source=x&""bot"":true",1,0,1\r\n',
  )
})

test('any answer comes as CSV, in which no text is a formula where that is asked for', async () => {
  const { getText } = await startCountedApi()
  const byFormat = await getText('?dimensions=template&metrics=sent,open_rate&format=csv&')
  expect(byFormat).toEqual({
    status: 200,
    type: 'text/csv; charset=utf-8',
    file: 'attachment; filename="analytics.csv"',
    text: `template_id,template_name,sent,open_rate\r\ntpl_a,"=HYPERLINK(""x"")",1,1\r\ntpl_b,,0,0\r\n`,
  })
  expect(await getText('?dimensions=template&metrics=sent,open_rate&', { accept: 'text/csv' })).toEqual(byFormat)
  expect((await getText('?dimensions=template&metrics=sent&format=csv&spreadsheet=true&')).text).toContain(`tpl_a,"'=HYPERLINK(""x"")",1`)
  expect((await getText('?metrics=sent,delivered&format=csv&')).text).toBe('sent,delivered\r\n1,2\r\n')
  expect((await getText('?metrics=sent&format=json&', { accept: 'text/csv' })).type).toContain('application/json')
  expect((await getText('?metrics=sent&', { accept: 'text/html,*/*;q=0.8' })).type).toContain('application/json')
})

test('of one tag alone, and beside the period before', async () => {
  const { get } = await startCountedApi()
  const counted = 'dimensions=period&metrics=delivered,bounced,complaint_rate&'
  const { data, totals } = (await get(`?${counted}tag=campaign=spring&`)).body
  expect(totals).toEqual({ delivered: 1, bounced: 1, complaint_rate: 0 })
  expect(data).toEqual([{ period: '2026-10-20', delivered: 1, bounced: 1, complaint_rate: 0 }])
  expect((await get(`?${counted}tag=campaign=autumn&`)).body.totals).toMatchObject({ delivered: 0 })
  expect((await get(`?${counted}compare=previous&`)).body).toMatchObject({
    totals: { delivered: 2 },
    previous: {
      start_date: '2026-10-19T00:00:00.000Z',
      end_date: '2026-10-20T00:00:00.000Z',
      totals: { delivered: 0, bounced: 0, complaint_rate: 0 },
    },
  })
  const { body: latency } = await get('/latency?compare=previous&')
  expect(latency).toMatchObject({ totals: { delivered: 2 }, previous: { totals: { delivered: 0, p50_ms: null } } })
})
