import { expect, test } from 'vitest'
import { SternaError, type ErrorCode } from '../../../src/platform/errors.ts'
import { apiOperations } from '../../../src/api/resource/operations.ts'
import type { ApiServices } from '../../../src/api/resource/operation-services.ts'
import { countAnswer, reasonOfStatus, wayIn } from '../../../src/api/http/count-answer.ts'
import { namesOf } from '../../../src/api/operation/operation.ts'
import { errorTable } from '../../../src/platform/error-table.ts'
import { metricsOf, newSharedCells } from '../../../src/platform/metrics/metrics.ts'
import { refusalFor } from '../../../src/mail-in/smtp-server/smtp-refusal.ts'
import { StorageFullError } from '../../../src/platform/store/database.ts'
import { refusalReason } from '../../../src/mail-in/submission/count-refusals.ts'

test('what may be refused for the domain it is from is a submission, and nothing else of the API is', () => {
  const wrong = apiOperations({} as ApiServices).flatMap(({ refuses = [], method, ...declared }) =>
    namesOf(declared)
      .map(({ path }) => path)
      .map((each) => each.replace(/\{\w+\}/g, 'em_1'))
      .filter((each) => (wayIn({ method, path: each }) === 'api') !== refuses.includes('domain_not_verified'))
      .map((each) => `${method} ${each}`),
  )
  expect(wrong).toEqual([])
  expect(wayIn({ method: 'POST', path: '/compat/postmark/email' })).toBe('compat')
  expect(wayIn({ method: 'GET', path: '/api/emails' })).toBeNull()
})

test('a refusal is of the same kind over HTTP and over SMTP', () => {
  const codes: ErrorCode[] = [
    'account_suspended',
    'domain_not_verified',
    'restricted_api_key',
    'invalid_message',
    'payload_too_large',
    'too_many_recipients',
  ]
  for (const code of [
    ...codes,
    'rate_limit_exceeded',
    'daily_quota_exceeded',
    'monthly_quota_exceeded',
    'service_unavailable',
    'invalid_idempotent_request',
    'concurrent_idempotent_requests',
  ] as const) {
    expect([code, refusalReason(refusalFor(new SternaError(code, 'x')))]).toEqual([code, reasonOfStatus(errorTable[code].status)])
  }
  expect(refusalReason(refusalFor(new StorageFullError()))).toBe(reasonOfStatus(507))
  expect(refusalReason({ code: 535, enhancedStatus: '5.7.8', text: '' })).toBe(reasonOfStatus(401))
})

test('an answer with a status that nobody expected is counted as another', () => {
  const sharedCells = newSharedCells()
  const metrics = metricsOf(sharedCells)
  const sum = () => new Float64Array(sharedCells).reduce((total, number) => total + number, 0)
  for (const status of [200, 299, 418, 999]) countAnswer({ method: 'GET', path: '/x', status }, metrics)
  expect(sum()).toBe(4)
  countAnswer({ method: 'POST', path: '/api/send', status: 507 }, metrics)
  expect(sum()).toBe(6)
})
