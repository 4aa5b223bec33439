import { expect, test } from 'vitest'
import { judgeFamilies } from '../../../src/upkeep/doctor/examine-families.ts'
import { examinePort25, type Greeting } from '../../../src/upkeep/doctor/examine-port-25.ts'
import { fakeResolver, type FakeNames } from '../../support/fake-resolver.ts'

const [four, six] = ['9.9.9.9', '2a00::9']
const placesOf = (text: string) =>
  text.split(' ').map((place) => ({ host: place.slice(0, place.lastIndexOf(':')), port: Number(place.slice(place.lastIndexOf(':') + 1)) }))

test.each<[listen: string, found: string[], own: string[], expected: string[]]>([
  [':::25', [four, six], [four, six], ['ok listeners_fine']],
  ['0.0.0.0:25', [four], [four], ['ok listeners_fine']],
  ['0.0.0.0:25', [four, six], [four, six], ['failed listeners_lack_ipv6']],
  // Somebody in front may translate.
  ['0.0.0.0:25', [four, six], ['10.0.0.2'], ['warning listeners_lack_ipv6']],
  ['0.0.0.0:25 :::25', [four, six], [four, six], ['ok listeners_fine']],
  [`${six}:25`, [four, six], [four, six], ['failed listeners_lack_ipv4']],
  // Beside an IPv4 address for the same port, [::] takes IPv6 only.
  ['127.0.0.1:25 :::25', [four, six], [four, six], ['failed listeners_lack_ipv4']],
  ['127.0.0.1:26 :::25', [four, six], [four, six], ['ok listeners_fine']],
  // Its clients come through something else.
  ['127.0.0.1:25 ::1:25', [four, six], [four, six], ['ok listeners_fine']],
  ['mail.test:25', [four, six], [four, six], ['ok listeners_fine']],
  ['0.0.0.0:25', [], [four], []],
])('%s with %j in the DNS', (listen, found, interfaceAddresses, expected) => {
  const listening = [
    { name: 'http.listen', places: [{ host: '::', port: 80 }] },
    { name: 'return_path.listen', places: placesOf(listen) },
    { name: 'http.tls_listen', places: [] },
  ]
  const findings = judgeFamilies({ host: 'mail.test', found, interfaceAddresses, listening })
  expect(findings.map(({ status, code }) => `${status} ${code}`)).toEqual(expected)
  for (const { status, what } of findings) if (status !== 'ok') expect(what).toMatch(/: return_path\.listen \(/)
})

const greets: Greeting = { line: '220 mx.test' }
const silent: Greeting = { fault: 'no answer' }
const noWay: Greeting = { fault: 'connect ENETUNREACH 2a00::9:25 - Local (:::0)' }
test.each<[string, FakeNames, four: Greeting, six: Greeting, expected: string[]]>([
  ['IPv4 only', { a: [four] }, greets, silent, ['ok port_25_open']],
  ['both', { a: [four], aaaa: [six] }, greets, greets, ['ok port_25_open', 'ok port_25_ipv6_open']],
  ['a machine without IPv6', { a: [four], aaaa: [six] }, greets, noWay, ['ok port_25_open']],
  ['IPv6 that is closed', { a: [four], aaaa: [six] }, greets, silent, ['ok port_25_open', 'warning port_25_ipv6_closed']],
  ['a machine without IPv4', { a: [four], aaaa: [six] }, noWay, greets, ['ok port_25_open', 'ok port_25_ipv6_open']],
  ['both closed', { a: [four], aaaa: [six] }, silent, silent, ['failed port_25_closed', 'warning port_25_ipv6_closed']],
  ['IPv4 closed, and no IPv6', { a: [four], aaaa: [six] }, silent, noWay, ['failed port_25_closed']],
])('port 25 outward: %s', async (_, names, overFour, overSix, expected) => {
  const greet = (address: string): Promise<Greeting> => Promise.resolve(address === four ? overFour : overSix)
  const findings = await examinePort25([{ host: 'mx.test', port: 25 }], fakeResolver({ 'mx.test': names }), greet)
  expect(findings.map(({ status, code }) => `${status} ${code}`)).toEqual(expected)
  expect(findings[0]?.what).not.toContain('ENETUNREACH')
})
