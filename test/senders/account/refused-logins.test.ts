import { expect, test } from 'vitest'
import { RefusedLogins } from '../../../src/senders/account/refused-logins.ts'
import { createLog } from '../../../src/platform/log.ts'

function recording() {
  const lines: string[] = []
  const logins = new RefusedLogins(createLog('warn', (line) => lines.push(line)))
  return {
    logins,
    told: () =>
      lines.splice(0).map((line) => ({ ...(JSON.parse(line) as object), level: undefined, time: undefined })) as { message?: string }[],
  }
}

test('of thousands of failures of one network the first is told at once, and the others by a count every minute', () => {
  const { logins, told } = recording()
  for (let i = 0; i < 41_000; i++) logins.note('SMTP login refused', { address: '192.0.2.1', reason: 'invalid' })
  expect(told()).toEqual([{ address: '192.0.2.1', reason: 'invalid', message: 'SMTP login refused' }])
  logins.tell()
  expect(told()).toEqual([{ network: '192.0.2.1', count: 40_999, message: 'SMTP login refused, repeatedly' }])
  logins.note('SMTP login refused', { address: '192.0.2.1' })
  expect(told()).toEqual([])
  logins.tell()
  expect(told()).toEqual([{ network: '192.0.2.1', count: 1, message: 'SMTP login refused, repeatedly' }])
  // A quiet minute.
  logins.tell()
  expect(told()).toEqual([])
  logins.note('SMTP login refused', { address: '192.0.2.1' })
  expect(told()).toHaveLength(1)
})

test('failures of thousands of networks are told in a few lines', () => {
  const { logins, told } = recording()
  for (let i = 0; i < 5_000; i++) logins.note('login refused', { address: `10.0.${i >> 8}.${i & 255}` })
  expect(told()).toHaveLength(20)
  logins.tell()
  expect(told()).toEqual([{ count: 4_980, message: 'login refused, from many other networks' }])
})

test('addresses of one IPv6 /64 are one client, and different messages are counted apart', () => {
  const { logins, told } = recording()
  logins.note('login refused', { address: '2001:db8::1' })
  logins.note('login refused', { address: '2001:db8::2' })
  logins.note('SMTP login refused', { address: '2001:db8::3' })
  expect(told().map(({ message }) => message)).toEqual(['login refused', 'SMTP login refused'])
  logins.tell()
  expect(told()).toEqual([{ network: '2001:db8:0:0::/64', count: 1, message: 'login refused, repeatedly' }])
})
