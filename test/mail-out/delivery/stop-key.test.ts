import { expect, test } from 'vitest'
import { ownFamilies, partsOfStop, stopKey, stopKeys } from '../../../src/mail-out/delivery/stop-key.ts'

const group = 'provider:google'
const [four, six] = ['192.0.2.1', '2001:db8::1']

test.each([
  [four, '192.0.2.9', `${group} from ${four}`, 4],
  [six, '2001:db8::9', `${group} from ${six}`, 6],
  [null, '192.0.2.9', `${group} from any IPv4 address`, 4],
  [null, '2001:db8::9', `${group} from any IPv6 address`, 6],
])('a stop is named by our address, or by the family if the system chooses: %s to %s', (source, host, key, family) => {
  expect(stopKey(group, source, host)).toBe(key)
  expect(partsOfStop(key)).toEqual({ group, source, family })
})

test.each([
  ['no sources, no IPv6', [], ['127.0.0.1', four, '::1', 'fe80::1'], ['any IPv4 address']],
  ['no sources', [], [four, six], ['any IPv4 address', 'any IPv6 address']],
  ['an IPv4 source', [four], [four, six], [four, 'any IPv6 address']],
  ['an IPv4 source, no IPv6', [four], [four, '::1'], [four]],
  ['sources of both families', [six, four], [], [four, six]],
])('all ways to a group are stopped if all of its stops hold: %s', (_, addresses, interfaceAddresses, from) => {
  const own = { sources: addresses.map((address) => ({ address })), interfaceAddresses }
  expect(stopKeys(group, own, ownFamilies(own))).toEqual(from.map((each) => `${group} from ${each}`))
})
