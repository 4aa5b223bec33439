import { describe, expect, it, test } from 'vitest'
import { checkHeaders, headerTextFault, withoutOwnMessageFields } from '../../../src/mail/message/check-headers.ts'

describe('checkHeaders', () => {
  it('takes what callers may set', () => {
    const headers = {
      'In-Reply-To': '<1@example.com>',
      References: '<1@example.com> <2@example.com>',
      'List-Unsubscribe': '<https://example.com/u?a=%0d%0aBcc: x>',
      'X-Entity-Ref-ID': 'für dich 👍',
      'X-Empty': '',
    }
    expect(checkHeaders(headers)).toEqual([])
  })

  const forbidden =
    'From To Cc Bcc Sender Date Subject MIME-Version Message-ID DKIM-Signature Return-Path Received Authentication-Results X-Mailer ' +
    'Content-Type content-transfer-encoding ARC-Seal Resent-From fRoM'
  it.each(forbidden.split(' '))('refuses the name %s', (name) => {
    expect(checkHeaders({ [name]: 'x' })).toEqual([expect.objectContaining({ field: `headers.${name}`, code: 'validation_error' })])
  })

  it.each(['', 'X A', 'X:', 'X-A:\r\nBcc', 'X\r\nBcc', 'X\0', 'Xü', 'X\u2028', 'x'.repeat(77), ' X', 'From ', 'From\t'])(
    'refuses the name %j',
    (name) => {
      expect(checkHeaders({ [name]: 'x' })).toHaveLength(1)
    },
  )

  it.each(['\r', '\n', '\r\n', '\0', '\x0b', '\x0c', '\x1b', '\x7f', '\u0085', '\u2028', '\u2029', '\ud800', '\udfff'])(
    'refuses %j in a value',
    (text) => {
      expect(checkHeaders({ 'X-A': `a${text}Bcc: x@example.org` })).toHaveLength(1)
      expect(checkHeaders({ 'X-A': `a${text}` })).toHaveLength(1)
      expect(headerTextFault(text)).not.toBeNull()
    },
  )

  it('refuses too much, and what is given twice', () => {
    expect(checkHeaders({ 'X-A': 'x'.repeat(999) })).toHaveLength(1)
    expect(checkHeaders({ 'X-A': 'x'.repeat(997) })).toEqual([])
    expect(checkHeaders({ 'X-A': 'x'.repeat(998) })).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/^The X-A field has a part/) }),
    ])
    expect(checkHeaders({ 'X-A': `${'x'.repeat(496)} ${'x'.repeat(501)}`, References: '<a@b.example>'.repeat(76) })).toEqual([])
    expect(checkHeaders({ 'X-A': '1', 'x-a': '2' })).toHaveLength(1)
    expect(checkHeaders(Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`X-${i}`, 'x'])))).toHaveLength(1)
  })
})

test('the fields of a message that the client has built are left out, and no others', () => {
  const kept = { 'X-Date': '1', Content: '2', Subject: '3', 'Content-\r\nBcc': '4', References: '5' }
  expect(withoutOwnMessageFields({ 'MESSAGE-ID': 'a', ...kept, date: 'b', 'Content-ID': 'c', 'Mime-Version': 'd' })).toEqual({
    kept,
    dropped: ['MESSAGE-ID', 'date', 'Content-ID', 'Mime-Version'],
  })
})
