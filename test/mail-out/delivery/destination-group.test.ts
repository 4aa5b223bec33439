import { expect, test } from 'vitest'
import { destinationGroup, isOfGroup } from '../../../src/mail-out/delivery/destination-group.ts'

const mx = (...hosts: [number, string][]) => hosts.map(([preference, exchange]) => ({ preference, exchange }))

test.each([
  ['a provider, by the host of best preference', mx([20, 'mx.backup.example'], [10, 'aspmx.l.google.com']), 'provider:google'],
  ['a provider whose name only a backup host has', mx([10, 'mx.rcpt.example'], [20, 'aspmx.l.google.com']), 'site:mx.rcpt.example'],
  ['a provider beside a host of its own', mx([1, 'aspmx.l.google.com'], [1, 'mx.a.example']), 'site:aspmx.l.google.com mx.a.example'],
  ['a customer’s machine at a provider', mx([0, 'vps-1234.vps.ovh.net']), 'site:vps-1234.vps.ovh.net'],
  ['the edge for consumers', mx([0, 'outlook-com.olc.protection.outlook.com']), 'provider:outlook'],
  ['the edge for organizations', mx([0, 'rcpt-example.mail.protection.outlook.com']), 'provider:m365'],
  ['its new name', mx([0, 'rcpt-example.h-v1.mx.microsoft']), 'provider:m365'],
  ['any order and letter case', mx([5, 'B.host.example.'], [5, 'a.host.example']), 'site:a.host.example b.host.example'],
  ['no MX record', [], 'site:rcpt.example'],
])('a destination belongs to the hosts that serve it: %s', (_, records, group) => {
  expect(destinationGroup('rcpt.example', records)).toBe(group)
})

test('however many hosts a domain names, its group has a short name', () => {
  const many = Array.from({ length: 1_000 }, (_, i) => [1, `mx${i}.rcpt.example`] as [number, string])
  expect(destinationGroup('rcpt.example', mx(...many)).length).toBeLessThan(250)
})

test.each([
  ['ALT1.aspmx.l.google.com.', 'provider:google', true],
  ['mx.rcpt.example', 'provider:google', false],
  ['B.host.example.', 'site:a.host.example b.host.example', true],
  ['c.host.example', 'site:a.host.example b.host.example', false],
  ['rcpt.example', 'site:rcpt.example', true],
])('whether %s is a host of %s', (host, group, isOne) => {
  expect(isOfGroup(host, group)).toBe(isOne)
})
