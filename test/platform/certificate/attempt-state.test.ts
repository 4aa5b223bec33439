import { expect, test } from 'vitest'
import { AcmeProblem, problemOf, retryAfterOf } from '../../../src/platform/certificate/acme-problem.ts'
import * as attempts from '../../../src/platform/certificate/attempt-state.ts'

const minute = 60_000
const hour = 60 * minute
const now = Date.UTC(2026, 10, 23)
const name = 'links.shop.example.com'
const begin = (state: attempts.AttemptState, at = now) => attempts.beginAttempt(state, name, { now: at, random: 0 })
const fail = (state: attempts.AttemptState, problem: AcmeProblem, at = now) =>
  attempts.failAttempt(state, { name, challenge: 'http-01', problem, now: at, random: 0 })
const refused = new AcmeProblem('connection', 'connection refused')
const limited = (detail: string, retryAfterMs: number | null = null) => new AcmeProblem('rateLimited', detail, { retryAfterMs })

test('a name that keeps failing is tried at most four times an hour, then ever less often, and never given up', () => {
  let [state, at] = [attempts.noAttempts, now]
  const tries: number[] = []
  for (let i = 0; i < 12; i++) {
    tries.push(at)
    state = fail(begin(state, at), refused, at)
    at = state.names[name]?.nextAt ?? 0
  }
  expect(tries.slice(0, 5).map((time) => (time - now) / minute)).toEqual([0, 1, 16, 46, 106])
  expect((at - (tries.at(-1) ?? 0)) / hour).toBe(12)
  expect(state.pause).toBe(null)
})

test('the next challenge is tried after a failure, and the one that worked comes first the next time', () => {
  const both = ['http-01', 'tls-alpn-01'] as const
  let state = attempts.noAttempts
  const tried = () => attempts.challengeFor(state, name, both)
  expect(tried()).toBe('http-01')
  state = fail(begin(state), refused)
  expect(tried()).toBe('tls-alpn-01')
  state = attempts.endAttempt(begin(state), name, 'tls-alpn-01')
  expect(state.names).toEqual({})
  expect(tried()).toBe('tls-alpn-01')
  expect(attempts.challengeFor(state, name, ['http-01'])).toBe('http-01')
})

test('an attempt that never ended counts as failed', () => {
  const kept = attempts.readAttempts(JSON.stringify(begin(attempts.noAttempts)))
  expect(kept.names[name]).toMatchObject({ failures: 1, nextAt: now + minute, problem: null })
})

test.each([
  ['too many certificates (50) already issued for "example.com" in the last 168h', 2 * hour, name],
  ['too many failed authorizations for links.shop.example.com', null, name],
  ['too many new orders (300) from this account in the last 3h0m0s', 2 * hour, 'all'],
  ['too many requests; see https://letsencrypt.org/docs/rate-limits', 2 * hour, 'all'],
  ['too many certificates already issued for notexample.com', 2 * hour, 'all'],
])('a limit pauses what it is about: %s', (detail, retryAfterMs, pauses) => {
  const state = fail(begin(attempts.noAttempts), limited(detail, retryAfterMs))
  expect(attempts.freeAt(state, now)).toBe(pauses === 'all' ? now + 2 * hour : now)
  expect(state.names[name]?.nextAt).toBe(now + (retryAfterMs ?? hour))
  expect(attempts.hasten(state)).toEqual(state)
})

test('an authority that is away pauses everything, ever longer, and no name is blamed', () => {
  let state = attempts.noAttempts
  const pauses = [1, 5, 15, 30, 60, 60].map((expected) => {
    state = fail(begin(state), new AcmeProblem('unreachable', 'ECONNREFUSED'))
    return [(attempts.freeAt(state, now) - now) / minute, expected]
  })
  for (const [pause, expected] of pauses) expect(pause).toBe(expected)
  const hastened = attempts.hasten(state)
  expect([hastened.pause, hastened.names[name]?.nextAt]).toEqual([null, now + minute])
  expect(state.names[name]?.failures).toBe(0)
  expect(attempts.endAttempt(begin(state), name, 'http-01').pause).toBe(null)
})

test('at most 60 orders are placed in an hour', () => {
  let state = attempts.noAttempts
  for (let i = 0; i < 60; i++) state = attempts.countOrder(state, now + i * 1000)
  expect(attempts.freeAt(state, now + minute)).toBe(now + hour)
  expect(attempts.freeAt(state, now + hour)).toBe(now + hour)
})

test('an operator who has mended something waits a quarter of an hour at most', () => {
  let state = attempts.noAttempts
  for (let i = 0; i < 6; i++) state = fail(begin(state), refused)
  expect(attempts.hasten(state).names[name]?.nextAt).toBe(now + 15 * minute)
})

test.each([null, '', '{"names"', '[]', '{"names":{}}', 'null'])('a state that is damaged counts as none: %s', (text) => {
  expect(attempts.readAttempts(text)).toEqual(attempts.noAttempts)
})

test('certificates are renewed shortly before two thirds of their life, not all at once', () => {
  const life = { validFrom: now, expiresAt: now + 90 * 24 * hour }
  const days = (fingerprint: string): number => (attempts.renewAt({ ...life, fingerprint }) - now) / 24 / hour
  expect(days('00:00:00:11')).toBeCloseTo(60)
  expect(days('FF:FF:FF:11')).toBeCloseTo(55.5)
})

test('problem documents and Retry-After are read, whatever they hold', () => {
  expect(problemOf({ type: 'urn:ietf:params:acme:error:caa', detail: 'a\n b' })).toMatchObject({ type: 'caa', message: 'a b' })
  for (const odd of [null, 'x', [], { type: 5, detail: {} }]) expect(problemOf(odd)).toMatchObject({ type: 'malformed' })
  expect(retryAfterOf('120', now)).toBe(120_000)
  expect(retryAfterOf('Mon, 23 Nov 2026 00:01:00 GMT', now)).toBe(60_000)
  for (const odd of [undefined, '', 'soon', '-5', '1e3']) expect(retryAfterOf(odd, now)).toBe(null)
})
