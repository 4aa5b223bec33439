import { createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { SternaError } from '../../src/platform/errors.ts'
import { reasonOf } from '../../src/platform/plain-reason.ts'

const thrownBy = async (work: () => unknown): Promise<unknown> => {
  try {
    await work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test.each<[what: string, work: () => unknown, reason: string]>([
  ['a file that is not there', () => readFile('/nowhere/x'), 'there is no such file or directory (ENOENT)'],
  ['a directory', () => readFile('/'), 'it is a directory (EISDIR)'],
  ['an error of ours', () => Promise.reject(new SternaError('not_found', 'There is none.')), 'There is none.'],
  ['a word', () => Promise.reject('no' as never), 'no'],
  ['a key that is none', () => createPrivateKey('x'), 'DECODER routines::unsupported'],
])('%s', async (_, work, reason) => expect(reasonOf(await thrownBy(work))).toContain(reason))

test.each<[object, string]>([
  [{ code: 'EPROTO', reason: 'wrong version number', message: 'C0:error:0A00010B:SSL routines' }, 'does not speak TLS on this port'],
  [{ code: 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE' }, 'TLS could not be agreed with the other side (ERR_SSL_'],
  [{ code: 'HPE_INVALID_CONSTANT' }, 'the answer is not valid HTTP (HPE_INVALID_CONSTANT)'],
  [{ code: 'EUNHEARD', message: 'unheard of' }, 'unheard of'],
  [{ code: 'EUNHEARD', message: '' }, 'EUNHEARD'],
  [{ message: '' }, 'it broke off without a reason'],
])('%j', (fields, reason) => expect(reasonOf(Object.assign(new Error(), fields))).toContain(reason))

test('of several addresses, the first counts', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED ::1:25'), { code: 'ECONNREFUSED' })
  expect(reasonOf(new AggregateError([refused, new Error('other')]))).toMatch(/^the connection was refused/)
})
