import { expect, test } from 'vitest'
import { addressRule } from '../../../src/notify/webhook/webhook-address.ts'

const own = ['127.0.0.1', '127.9.9.9', '10.0.0.1', '172.16.5.5', '192.168.1.1', '100.64.0.1', '::1', 'fd12::1', '::ffff:10.0.0.1']
const never = [
  '0.0.0.0',
  '0.1.2.3',
  '169.254.169.254',
  '169.254.0.1',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '224.0.0.1',
  '255.255.255.255',
  '240.0.0.1',
  '198.18.0.1',
  '192.0.2.1',
  '::',
  'fe80::1',
  'ff02::1',
  'fd00:ec2::254',
  '::ffff:169.254.169.254',
  '64:ff9b::7f00:1',
  '2002:7f00:1::1',
  '::7f00:1',
  '2001:db8::1',
  '2001::1',
  '4000::1',
  'fec0::1',
  '',
  'example.com',
]
const open = ['8.8.8.8', '1.1.1.1', '2606:4700::1111', '::ffff:8.8.8.8', '100.128.0.1']

test('allows only public addresses by default', () => {
  const isAllowed = addressRule(false)
  expect(open.filter(isAllowed)).toEqual(open)
  expect([...own, ...never].filter(isAllowed)).toEqual([])
})

test('with private addresses allowed, still refuses link-local, metadata and tunnel addresses', () => {
  const isAllowed = addressRule(true)
  expect([...open, ...own].filter(isAllowed)).toEqual([...open, ...own])
  expect(never.filter(isAllowed)).toEqual([])
})

test('a list of networks allows no others', () => {
  const isAllowed = addressRule(['10.0.0.0/24', 'fd12::/16', '169.254.0.0/16'])
  expect([...own, ...never].filter(isAllowed)).toEqual(['10.0.0.1', 'fd12::1', '::ffff:10.0.0.1'])
  expect(() => addressRule(['10.0.0.0'])).toThrow()
})
