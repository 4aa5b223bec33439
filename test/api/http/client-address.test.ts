import { expect, test } from 'vitest'
import { clientAddressRule } from '../../../src/api/http/client-address.ts'

const trusted = ['10.0.0.0/8', 'fd00::/8', '127.0.0.1/32']

test.each([
  ['nobody is trusted', [], '10.0.0.1', '203.0.113.9', '10.0.0.1'],
  ['nobody is trusted, IPv4 in IPv6 clothing', [], '::ffff:10.0.0.1', '203.0.113.9', '10.0.0.1'],
  ['no field', trusted, '10.0.0.1', undefined, '10.0.0.1'],
  ['a proxy tells', trusted, '10.0.0.1', '203.0.113.9', '203.0.113.9'],
  ['IPv4 in IPv6 clothing', trusted, '::ffff:10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
  ['a stranger tells', trusted, '198.51.100.7', '203.0.113.9', '198.51.100.7'],
  ['what a client invents stands before', trusted, '10.0.0.1', '127.0.0.1, 203.0.113.9', '203.0.113.9'],
  ['two proxies', trusted, '10.0.0.1', '192.0.2.66, 203.0.113.9, 10.2.2.2', '203.0.113.9'],
  ['a stranger between two proxies', trusted, '10.0.0.1', '10.0.0.9, 203.0.113.9, 10.2.2.2', '203.0.113.9'],
  ['all of them proxies', trusted, '10.0.0.1', '10.0.0.3,10.0.0.2', '10.0.0.3'],
  ['brackets and a port', trusted, 'fd00::1', '[2001:db8::1]:4711', '2001:db8::1'],
  ['a port', trusted, 'fd00::1', '203.0.113.9:4711', '203.0.113.9'],
  ['no address at all', trusted, '10.0.0.1', '203.0.113.9, unknown', '10.0.0.1'],
  ['an odd notation', trusted, '10.0.0.1', '0x7f.1', '10.0.0.1'],
  ['empty entries', trusted, '10.0.0.1', ' , ', '10.0.0.1'],
  ['the connection is gone', trusted, undefined, '203.0.113.9', ''],
])('%s', (_, proxies, remoteAddress, forwardedFor, address) => {
  expect(clientAddressRule(proxies)({ remoteAddress, forwardedFor })).toBe(address)
})

test('however long a field is, its end counts', () => {
  const rule = clientAddressRule(trusted)
  expect(rule({ remoteAddress: '10.0.0.1', forwardedFor: `${'10.0.0.2,'.repeat(1000)}203.0.113.9` })).toBe('203.0.113.9')
  expect(rule({ remoteAddress: '10.0.0.1', forwardedFor: `203.0.113.9,${'10.0.0.2,'.repeat(1000)}10.0.0.3` })).toBe('10.0.0.2')
})
