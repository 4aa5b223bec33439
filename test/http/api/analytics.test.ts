import { expect, test } from 'vitest'
import { metrics } from '../../../src/analytics/metric.ts'
import { Rollup } from '../../../src/analytics/rollup.ts'
import { recordEvent } from '../../../src/event/event-log.ts'
import type { EventType } from '../../../src/event/event-type.ts'
import { analyticsOperations } from '../../../src/http/api/analytics.ts'
import { newId } from '../../../src/id.ts'
import { startApiServer } from '../../support/api-server.ts'

const hour = 3_600_000

async function startApi() {
  const api = await startApiServer((parts) => analyticsOperations({ ...parts, rollup: new Rollup(parts) }))
  const token = await api.token()
  const { id: accountId } = api.accounts.getAccount('acme')
  /** As it stands in the log once a message of the domain was sent. */
  const tell = async (types: EventType[], { sandbox = false, to = accountId } = {}) => {
    const subject = { accountId: to, messageId: newId('em', api.clock.now()), recipientId: newId('rcp', api.clock.now()), to: 'a@b.example', subject: '', sandbox }
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
    sent: 4, delivered: 3, opened: 6, clicked: 0, bounced: 1, bounced_permanent: 1, bounced_transient: 0, complained: 0, unsubscribed: 0,
    suppressed: 0, failed: 0, delivery_delayed: 0, unique_opened: 3, unique_clicked: 0, delivery_rate: 0.75, open_rate: 1, click_rate: 0,
    bounce_rate: 0.25, complaint_rate: 0, unsubscribe_rate: 0,
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
  expect((await get(query.replace('period', 'domain'))).body.data).toEqual([{ domain_id: null, domain_name: null, sent: 2, delivery_rate: 0.5 }])
  expect((await get(query.replace('period', 'tag'))).body.data).toEqual([])
  expect((await get(`${query}&domain_id=dom_1`)).body.totals).toEqual({ sent: 0, delivery_rate: 0 })
  expect((await get(`${query}&granularity=hourly`)).body.data).toHaveLength(72)
  expect((await get(`?domain_id=${'dom_1,'.repeat(101)}`)).status).toBe(422)
})

test.each([
  'start_date=2026-11-21&end_date=2026-11-20', 'start_date=soon', 'granularity=yearly', 'timezone=Mars', 'metrics=sent,received',
  'dimensions=email', 'start_date=2024-01-01&granularity=hourly&dimensions=period',
])('%s is refused', async (query) => {
  const { get } = await startApi()
  expect(await get(`?${query}`)).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } })
})
