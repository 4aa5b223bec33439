import { expect, test } from 'vitest'
import { askedFor } from '../../../src/notify/notice/asked-for.ts'

test.each([
  [null, ['failed', 'delayed', null, null]],
  ['NEVER', [null, null, null, null]],
  ['FAILURE', ['failed', null, null, null]],
  ['DELAY', [null, 'delayed', null, null]],
  ['SUCCESS', [null, null, 'delivered', 'relayed']],
  ['SUCCESS,FAILURE,DELAY', ['failed', 'delayed', 'delivered', 'relayed']],
])('NOTIFY=%s', (notify, told) => {
  const types = ['email.bounced', 'email.deferred', 'email.delivered', 'email.relayed'] as const
  expect(types.map((type) => askedFor(type, notify))).toEqual(told)
  expect(askedFor('email.sent', notify)).toBe(null)
})
