import { expect, test } from 'vitest'
import { z } from 'zod'
import { operation } from '../../../src/api/operation/operation.ts'
import { RateLimit } from '../../../src/api/http/rate-limit.ts'
import { minuteMs, RateLimiter } from '../../../src/platform/rate-limiter.ts'
import { startApiServer, type ApiAnswer, type ApiServer } from '../../support/api-server.ts'
import { testCore } from '../../support/test-core.ts'

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

test('an account whose plan is not known any more has the default one', async () => {
  const core = await testCore()
  expect(new RateLimit(core, { plans, defaultPlan: 'free' }).limitOf('acc_unknown')).toEqual({ plan: 'free', limit: 3 })
})
