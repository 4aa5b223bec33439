import { describe, expect, it } from 'vitest'
import { whyForbidden } from '../../../src/mail-out/delivery/address-guard.ts'

const guard = {
  allowPrivateAddresses: false,
  ownListeners: [
    { host: '0.0.0.0', port: 2587 },
    { host: '203.0.113.7', port: 8080 },
    { host: '::', port: 2465 },
    { host: 'localhost', port: 2525 },
  ],
  interfaceAddresses: ['127.0.0.1', '203.0.113.7', '::1', '2600::7', 'fe80::1%eth0'],
}
const lab = { ...guard, allowPrivateAddresses: true }

describe('the open internet only', () => {
  it.each(['93.184.215.14', '8.8.8.8', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'])('%s', (address) =>
    expect(whyForbidden(address, 25, guard)).toBeNull(),
  )

  it.each([
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '127.0.0.1',
    '127.8.8.8',
    '169.254.169.254',
    '100.64.0.1',
    '198.18.0.1',
    '192.0.2.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '::ffff:10.0.0.1',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::a00:1',
    '2002:7f00:1::',
    '2002:a00:1::1',
    '2001::1',
    '100::1',
    'not an address',
    '',
  ])('not %s', (address) => expect(whyForbidden(address, 25, guard)).toBe('private'))

  it.each(['0.0.0.0', '::', '::ffff:0.0.0.0', '64:ff9b::'])('%s is this machine', (address) => {
    expect(whyForbidden(address, 25, guard)).toBe('own')
    expect(whyForbidden(address, 25, lab)).toBe('own')
  })
})

describe('where private addresses are allowed', () => {
  it.each(['10.0.0.1', '127.0.0.1', '::1', 'fd12::1', '::ffff:192.168.0.1'])('%s', (address) =>
    expect(whyForbidden(address, 25, lab)).toBeNull(),
  )

  it.each([
    ['127.0.0.1', 2587],
    ['127.0.0.2', 2587],
    ['203.0.113.7', 2587],
    ['::ffff:127.0.0.1', 2587],
    ['64:ff9b::cb00:7107', 2587],
    ['2002:cb00:7107::1', 2587],
    ['203.0.113.7', 8080],
    ['::1', 2465],
    ['127.0.0.1', 2465],
    ['2600::7', 2465],
    ['127.0.0.1', 2525],
  ])('never ourselves: %s %i', (address, port) => expect(whyForbidden(address, port, lab)).toBe('own'))

  it.each([
    ['127.0.0.1', 25],
    ['127.0.0.1', 8080],
    ['203.0.113.8', 2587],
  ])('another port or machine is another server: %s %i', (address, port) => expect(whyForbidden(address, port, lab)).toBeNull())

  it.each(['224.0.0.1', 'ff02::1', '255.255.255.255'])('no host: %s', (address) => expect(whyForbidden(address, 25, lab)).toBe('private'))
})
