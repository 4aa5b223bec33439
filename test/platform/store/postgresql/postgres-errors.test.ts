import { expect, test } from 'vitest'
import { isLost, threadErrorOf } from '../../../../src/platform/store/postgresql/postgres-errors.ts'

const withCode = (code: string): Error => Object.assign(new Error('failed'), { code })

test.each([
  ['the name server does not answer', withCode('EAI_AGAIN')],
  ['nothing listens', withCode('ECONNREFUSED')],
  ['the connection takes too long', new Error('timeout expired')],
  ['the server is a replica', withCode('25006')],
  ['the server stops', withCode('57P01')],
])('a connection is lost, and what was asked is tried again: %s', (_, error) => {
  expect(isLost(error)).toBe(true)
  expect(threadErrorOf(error, 0).kind).toBe('unavailable')
})

test.each([withCode('23505'), withCode('ERR_INVALID_ARG_TYPE'), withCode('22021')])('a connection outlives what fails: %o', (error) => {
  expect(isLost(error)).toBe(false)
})
