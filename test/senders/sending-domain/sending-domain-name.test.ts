import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseDomainName, parseLabel } from '../../../src/senders/sending-domain/sending-domain-name.ts'
import { cases } from '../../support/cases.ts'
import { anyCharacter } from '../../support/any-character.ts'

test.each([
  ['example.com', 'example.com'],
  ['Mail.Example.COM.', 'mail.example.com'],
  ['sender.example', 'sender.example'],
  ['shop.test', 'shop.test'],
  ['github.io', 'github.io'],
  ['münchen.de', 'xn--mnchen-3ya.de'],
  ['XN--MNCHEN-3YA.de', 'xn--mnchen-3ya.de'],
  ['a.公司.cn', 'a.xn--55qx5d.cn'],
  ['a。example.com', 'a.example.com'],
  ['r3---x.example.com', 'r3---x.example.com'],
])('%s is %s', (input, name) => {
  expect(parseDomainName(input)).toBe(name)
})

test.each([
  ['', 'not a domain'],
  ['.', 'not a domain'],
  ['a..b', 'not a domain'],
  ['example.com..', 'not a domain'],
  [' example.com', 'not a domain'],
  ['exa mple.com', 'not a domain'],
  ['ex_a.com', 'not a domain'],
  ['-a.com', 'not a domain'],
  ['a-.com', 'not a domain'],
  ['a%41.com', 'not a domain'],
  ['user@example.com', 'not a domain'],
  ['https://example.com', 'not a domain'],
  ['example.com:25', 'not a domain'],
  ['example.com\r\n', 'not a domain'],
  ['*.example.com', 'not a domain'],
  ['\u202eexample.com', 'not a domain'],
  ['xn--a.de', 'not a domain'],
  ['xn--.de', 'not a domain'],
  [`${'x'.repeat(64)}.com`, 'not a domain'],
  [`${'abcdefgh.'.repeat(22)}com`, 'longer than'],
  ['127.0.0.1', 'IP address'],
  ['0x7f.1', 'IP address'],
  ['1.2.3', 'IP address'],
  ['::1', 'not a domain'],
  ['[::1]', 'not a domain'],
  ['localhost', 'single label'],
  ['com', 'single label'],
  ['co.uk', 'public suffix'],
  ['CO.UK.', 'public suffix'],
  ['公司.cn', 'public suffix'],
])('%j is refused: %s', (input, fault) => {
  expect(() => parseDomainName(input)).toThrow(
    expect.objectContaining({ code: 'validation_error', message: expect.stringContaining(fault) }),
  )
})

test('any text gives a plain name that parses to itself, or a refusal', () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 40 }),
    fc.string({ unit: 'grapheme', maxLength: 20 }).map((label) => `${label}.example.com`),
    fc.domain(),
  )
  fc.assert(
    fc.property(text, (input) => {
      let name: string
      try {
        name = parseDomainName(input)
      } catch (error) {
        expect(error).toMatchObject({ code: 'validation_error' })
        return
      }
      expect(name).toMatch(/^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$/)
      expect(parseDomainName(name)).toBe(name)
    }),
    { numRuns: cases(400) },
  )
})

test('the label of the return path', () => {
  expect(parseLabel('Send', 'custom_return_path')).toBe('send')
  for (const label of ['', 'a.b', '-a', 'a_b', 'ü', 'xn--tda', 'x'.repeat(33)])
    expect(() => parseLabel(label, 'custom_return_path')).toThrow(/one label/)
})
