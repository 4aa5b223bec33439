import { describe, expect, test } from 'vitest'
import { parseProxyHeader } from '../../../src/platform/connection/proxy-header.ts'
import { proxyHeaderV1, proxyHeaderV2, rawHeaderV2 } from '../../support/proxy-header.ts'

const ipv6 = (client: string): Buffer => rawHeaderV2(0x21, 0x21, Buffer.from(`${client}${'00'.repeat(15)}01c3500019`, 'hex'))

describe('a header', () => {
  test.each<[string, Buffer, string | null]>([
    ['version 1, IPv4', proxyHeaderV1('203.0.113.9'), '203.0.113.9'],
    ['version 1, IPv6', proxyHeaderV1('2001:DB8::9'), '2001:db8::9'],
    ['version 1, IPv4 in IPv6', proxyHeaderV1('::ffff:203.0.113.9'), '203.0.113.9'],
    ['version 1, of nobody', Buffer.from('PROXY UNKNOWN\r\n'), null],
    ['version 1, of nobody, with words', Buffer.from('PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n'), null],
    ['version 2, IPv4', proxyHeaderV2('203.0.113.9'), '203.0.113.9'],
    ['version 2, IPv4, with more behind it', proxyHeaderV2('203.0.113.9', Buffer.from('0400030000000000', 'hex')), '203.0.113.9'],
    ['version 2, IPv6', ipv6('20010db8000000000000000000000009'), '2001:db8::9'],
    ['version 2, IPv4 in IPv6', ipv6('00000000000000000000ffffcb007109'), '203.0.113.9'],
    ['version 2, by the proxy itself', rawHeaderV2(0x20, 0x00, Buffer.alloc(0)), null],
    ['version 2, by the proxy itself, with addresses', rawHeaderV2(0x20, 0x11, Buffer.alloc(12)), null],
    ['version 2, of a Unix socket', rawHeaderV2(0x21, 0x31, Buffer.alloc(216)), null],
    ['version 2, of no family', rawHeaderV2(0x21, 0x00, Buffer.alloc(0)), null],
  ])('%s', (_, header, address) => {
    const found = { found: 'header', length: header.length, address }
    expect(parseProxyHeader(header)).toEqual(found)
    expect(parseProxyHeader(Buffer.concat([header, Buffer.from('EHLO x\r\n')]))).toEqual(found)
    for (let length = 0; length < header.length; length++) expect(parseProxyHeader(header.subarray(0, length))).toEqual({ found: 'part' })
  })
})

test.each(['EHLO x\r\n', 'GET / HTTP/1.1\r\n', 'PROPFIND / HTTP/1.1\r\n', 'PROXYING', 'proxy TCP4 ', '\x16\x03\x01', '\r\n\r\nQUIT'])(
  '%j is not one',
  (text) => {
    expect(parseProxyHeader(Buffer.from(text, 'latin1'))).toEqual({ found: 'none' })
  },
)

test.each([
  'PROXY TCP4 203.0.113.9 127.0.0.1 1\r\n',
  'PROXY TCP4 203.0.113.9 127.0.0.1 1 65536\r\n',
  'PROXY TCP4 203.0.113.256 127.0.0.1 1 2\r\n',
  'PROXY TCP4 3405803785 127.0.0.1 1 2\r\n',
  'PROXY TCP4 2001:db8::9 ::1 1 2\r\n',
  'PROXY TCP6 203.0.113.9 127.0.0.1 1 2\r\n',
  'PROXY TCP5 203.0.113.9 127.0.0.1 1 2\r\n',
  'PROXY  TCP4 203.0.113.9 127.0.0.1 1 2\r\n',
  'PROXY TCP4 mail.example 127.0.0.1 1 2\r\n',
  'PROXY UNKNOWNS\r\n',
  'PROXY \r\n',
  `PROXY UNKNOWN ${'x'.repeat(100)}\r\n`,
  `PROXY TCP4 ${'1'.repeat(100)}`,
])('%j is broken', (text) => {
  expect(parseProxyHeader(Buffer.from(text))).toEqual({ found: 'broken' })
})

test.each<[string, Buffer]>([
  ['another version', rawHeaderV2(0x11, 0x11, Buffer.alloc(12))],
  ['another command', rawHeaderV2(0x22, 0x11, Buffer.alloc(12))],
  ['a datagram', rawHeaderV2(0x21, 0x12, Buffer.alloc(12))],
  ['an unknown family', rawHeaderV2(0x21, 0x41, Buffer.alloc(12))],
  ['addresses cut short', rawHeaderV2(0x21, 0x11, Buffer.alloc(11))],
])('version 2 with %s is broken', (_, header) => {
  expect(parseProxyHeader(header)).toEqual({ found: 'broken' })
})
