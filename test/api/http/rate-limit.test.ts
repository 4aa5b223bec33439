import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { Accounts } from '../../../src/senders/account/accounts.ts'
import { operation } from '../../../src/api/operation/operation.ts'
import { saveWindow, timesOf } from '../../../src/api/http/rate-limit-store.ts'
import { RateLimit } from '../../../src/api/http/rate-limit.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { minuteMs, RateLimiter } from '../../../src/platform/rate-limiter.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import { startApiServer, type ApiAnswer, type ApiServer } from '../../support/api-server.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const plans = { free: 3, starter: 5 }

const endpoint = (path: string, handle: () => Record<string, never>) =>
  operation({
    id: path,
    method: 'GET',
    path,
    tag: 'Test',
    summary: 'Test',
    permission: null,
    answers: [{ status: 200, description: '', schema: z.object({}) }],
    handle: handle,
  })

/** The real limits before a server; `take` is handed on once the server is there. */
async function startLimited(): Promise<ApiServer> {
  const limits = {} as { rateLimit: RateLimit; failures: RateLimiter }
  const api = await startApiServer(
    () => [
      endpoint('/api/thing', () => ({})),
      endpoint('/api/broken', () => {
        throw new Error('broken')
      }),
    ],
    {
      rateLimit: { take: (id) => limits.rateLimit.take(id), takeUser: (id) => limits.rateLimit.takeUser(id) },
      failedAuthentications: { take: (network) => limits.failures.take(network) },
    },
  )
  limits.rateLimit = new RateLimit(api, { plans, defaultPlan: 'free' })
  limits.failures = new RateLimiter(api.clock, { limit: 3, windowMs: minuteMs })
  return api
}

const names = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'ratelimit-policy', 'ratelimit', 'retry-after']

/** The status, and those of the fields of a limit that are there. */
const fieldsOf = ({ status, headers }: ApiAnswer) => ({
  status,
  ...Object.fromEntries(names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)]] : []))),
})

/** What `fieldsOf` should find where the account stands like this; a refused one comes again after `reset`. */
const standing = (
  status: number,
  { remaining, reset, plan = 'free' }: { remaining: number; reset: number; plan?: keyof typeof plans },
) => ({
  status,
  'ratelimit-limit': `${plans[plan]}`,
  'ratelimit-remaining': `${remaining}`,
  'ratelimit-reset': `${reset}`,
  'ratelimit-policy': `"${plan}";q=${plans[plan]};w=60`,
  ratelimit: `"${plan}";r=${remaining};t=${reset}`,
  ...(status === 429 && { 'retry-after': `${reset}` }),
})

test('every answer to a valid key tells where the account stands, and over the limit nothing is done', async () => {
  const api = await startLimited()
  const [token, second] = [await api.token(), await api.token({ permission: 'read_access' })]
  const get = async (path: string, key = token) => fieldsOf(await api.request('GET', path, { token: key }))
  expect(await get('/api/thing')).toEqual(standing(200, { remaining: 2, reset: 60 }))
  api.clock.advance(10_400)
  expect(await get('/api/nothing')).toEqual(standing(404, { remaining: 1, reset: 50 }))
  expect(await get('/api/broken', second)).toEqual(standing(500, { remaining: 0, reset: 50 }))
  const refused = await api.request('GET', '/api/thing', { token })
  expect(refused.body).toMatchObject({ statusCode: 429, name: 'rate_limit_exceeded', request_id: expect.any(String) })
  expect(fieldsOf(refused)).toEqual(standing(429, { remaining: 0, reset: 50 }))
  expect(await get('/api/thing', await api.token({ account: 'other' }))).toEqual(standing(200, { remaining: 2, reset: 60 }))
  api.clock.advance(49_000)
  expect(await get('/api/thing')).toEqual(standing(429, { remaining: 0, reset: 1 }))
  api.clock.advance(1_000)
  expect(await get('/api/thing')).toEqual(standing(200, { remaining: 0, reset: 10 }))
  await api.accounts.change('acme', { plan: 'starter' })
  expect(await get('/api/thing')).toEqual(standing(200, { remaining: 1, reset: 10, plan: 'starter' }))
})

test('what is not part of the API is not counted, and has no such fields', async () => {
  const api = await startLimited()
  for (let i = 0; i < 5; i++) {
    expect(fieldsOf(await api.request('GET', '/healthz'))).toEqual({ status: 200 })
  }
})

test('an address that keeps failing is held up; a valid key from there is not, and neither is another address', async () => {
  const api = await startLimited()
  const fail = (token?: string) => api.request('GET', '/api/thing', token === undefined ? {} : { token })
  for (const token of [undefined, 'wrong', 'wrong']) expect((await fail(token)).status).toBe(401)
  api.clock.advance(20_000)
  const held = await fail('wrong')
  expect(fieldsOf(held)).toEqual({ status: 429, 'retry-after': '40' })
  expect(held.body.name).toBe('rate_limit_exceeded')
  expect((await fail(await api.token())).status).toBe(200)
  api.clock.advance(40_000)
  expect((await fail()).status).toBe(401)
})

async function limitsFixture() {
  const db = await testDatabase()
  const clock = settableClock()
  const accounts = new Accounts({ db, clock, changes: aloneWithChanges })
  const start = async () => {
    const rateLimit = new RateLimit({ db, clock, log: silentLog, accounts }, { plans, defaultPlan: 'free' })
    await rateLimit.start()
    onTestFinished(() => rateLimit.stop())
    return rateLimit
  }
  const rows = async () => (await db.read<{ account_id: string }>('select account_id from rate_window')).map(({ account_id: id }) => id)
  return { clock, start, rows }
}

test('a restart changes nothing, however the time of day is set meanwhile; the idle leave nothing behind', async () => {
  const { clock, start, rows } = await limitsFixture()
  const first = await start()
  for (const pause of [100, 900, 19_000]) {
    clock.advance(pause)
    expect(first.take('acc_1').accepted).toBe(true)
  }
  await first.stop()
  expect(await rows()).toEqual(['acc_1'])
  clock.advance(39_000)
  const second = await start()
  expect(second.take('acc_1')).toMatchObject({ accepted: false, resetSeconds: 2 })
  clock.correct(3_600_000)
  expect(second.take('acc_1')).toMatchObject({ accepted: false, resetSeconds: 2 })
  clock.advance(1_200)
  expect(second.take('acc_1').accepted).toBe(true)
  expect(second.take('acc_1').accepted).toBe(false)
  await second.stop()

  clock.correct(-7_200_000)
  const third = await start()
  expect(third.take('acc_1')).toMatchObject({ accepted: false, resetSeconds: 60 })
  clock.advance(60_000)
  await third.save()
  expect(await rows()).toEqual([])
  expect(third.take('acc_1').accepted).toBe(true)
})

test('an account whose plan is not known any more has the default one', async () => {
  const { start } = await limitsFixture()
  expect((await start()).limitOf('acc_unknown')).toEqual({ plan: 'free', limit: 3 })
})

test('a row holds any times', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 120_000 }), { minLength: 1 }), (gaps) => {
      let at = Date.UTC(2026, 10, 21)
      const times = gaps.map((gap) => (at += gap))
      const { firstAt, gaps: encoded } = saveWindow('acc_1', Float64Array.from(times)).params ?? {}
      expect(timesOf({ first_at: firstAt as number, gaps: encoded as Uint8Array })).toEqual(times)
    }),
  )
})
