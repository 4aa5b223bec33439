import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { domainOf, parseAddress, parsePath } from '../../../src/platform/smtp/address.ts'
import { displayNameFault, parseMailbox, parseMailboxList } from '../../../src/platform/smtp/mailbox.ts'
import { refusedAddresses, takenAddresses } from '../../support/address-cases.ts'
import { cases } from '../../support/cases.ts'
import { anyCharacter } from '../../support/any-character.ts'

const long = (n: number, text = 'a'): string => text.repeat(n)

describe('parseAddress', () => {
  it.each(takenAddresses)('accepts %j', (text, address) => {
    const parsed = parseAddress(text)
    expect(parsed).toMatchObject({ ok: true, address })
    expect(parsed.ok && `${parsed.localPart}@${parsed.domain}`).toBe(address)
    expect(domainOf(address)).toBe(parsed.ok && parsed.domain)
  })

  it.each(refusedAddresses)('refuses %j', (text, words) => {
    expect(parseAddress(text)).toEqual({ ok: false, fault: expect.stringContaining(words) })
  })

  it('has its two hundred cases', () => expect(takenAddresses.length + refusedAddresses.length).toBeGreaterThanOrEqual(200))

  it('never throws, and accepts its own output unchanged, with one @ and nothing that could confuse a protocol', () => {
    const alphabet = fc.constantFrom(
      'a',
      'B',
      '1',
      '@',
      '.',
      '-',
      '"',
      '\\',
      '<',
      '>',
      '(',
      ')',
      ',',
      ' ',
      '\r',
      '\n',
      '\0',
      'ü',
      '＠',
      '=?',
      '\u0308',
      'xn--',
    )
    const text = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.array(alphabet, { maxLength: 20 }).map((parts) => parts.join('')),
      fc
        .tuple(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.string({ unit: 'grapheme', maxLength: 8 }))
        .map((halves) => halves.join('@')),
    )
    fc.assert(
      fc.property(text, (input) => {
        const parsed = parseAddress(input)
        if (!parsed.ok) return parsed.fault !== ''
        expect(parseAddress(parsed.address)).toEqual(parsed)
        expect(parsed.address.split('@')).toHaveLength(2)
        expect(parsed.address).not.toMatch(/[\p{Cc}\p{Z}<>\\]/u)
        expect(parsed.domain).toMatch(/^[a-z0-9.-]+$/)
        return parsePath(`<${parsed.address}>`).ok
      }),
      { numRuns: cases(500) },
    )
  })

  // A quoted local part takes the long way, and is written as a dot-atom if it can be.
  it('reads plain addresses as it does others', () => {
    const textOf = (...parts: string[]) => fc.array(fc.constantFrom(...parts), { maxLength: 12 }).map((all) => all.join(''))
    const local = textOf('a', 'B', '7', '.', '-', '+', '=', '?', '=?', 'x'.repeat(30))
    const domain = textOf('a', 'B', '7', '.', '.', '-', 'xn--', '0x', 'com', 'x'.repeat(30), 'y'.repeat(100))
    fc.assert(
      fc.property(local, domain, (name, host) => {
        const parsed = parseAddress(`${name}@${host}`)
        if (parsed.ok) expect(parseAddress(`"${name}"@${host}`)).toEqual(parsed)
      }),
      { numRuns: cases(2_000) },
    )
  })
})

describe('parsePath', () => {
  it('parses the null reverse-path', () => {
    expect(parsePath('<>')).toEqual({ ok: true, address: null })
    expect(parsePath('')).toEqual({ ok: true, address: null })
  })

  it('parses a path with and without brackets', () => {
    const address = { localPart: 'a', domain: 'example.com', address: 'a@example.com' }
    expect(parsePath('<a@EXAMPLE.com>')).toEqual({ ok: true, address })
    expect(parsePath('a@example.com')).toEqual({ ok: true, address })
  })

  it.each(['<@a.example:b@c.example>', '<<a@b>>', '<a@b', 'a@b>', '<postmaster>', '< >', '<a@b> SIZE=1', 'Name <a@b>'])(
    'refuses %j',
    (text) => {
      expect(parsePath(text).ok).toBe(false)
    },
  )
})

describe('parseMailbox', () => {
  it.each([
    ['a@example.com', null, 'a@example.com'],
    ['<a@example.com>', null, 'a@example.com'],
    [' a@example.com\t', null, 'a@example.com'],
    ['Ann <a@example.com>', 'Ann', 'a@example.com'],
    ['Ann Lee<a@example.com>', 'Ann Lee', 'a@example.com'],
    ['Acme Inc. <a@example.com>', 'Acme Inc.', 'a@example.com'],
    ["Ann O'Neil <a@example.com>", "Ann O'Neil", 'a@example.com'],
    ['"Lee, Ann" <a@example.com>', 'Lee, Ann', 'a@example.com'],
    ['"a@own.example" <a@example.com>', 'a@own.example', 'a@example.com'],
    ['"say \\"hi\\" \\\\" <a@example.com>', 'say "hi" \\', 'a@example.com'],
    ['"(x)" Y <a@example.com>', '(x) Y', 'a@example.com'],
    ['Jürgen Groß <a@example.com>', 'Jürgen Groß', 'a@example.com'],
    ['山田太郎 <a@example.com>', '山田太郎', 'a@example.com'],
    ['=?utf-8?q?a?= <a@example.com>', '=?utf-8?q?a?=', 'a@example.com'],
    ['"" <a@example.com>', null, 'a@example.com'],
    ['"a..b"@example.com', null, '"a..b"@example.com'],
    ['X <"a,b"@example.com>', 'X', '"a,b"@example.com'],
    ['root@host.example (Cron Daemon)', 'Cron Daemon', 'root@host.example'],
    ['(Cron \\(nested (one)\\)) root@host.example', 'Cron (nested (one))', 'root@host.example'],
    ['Ann (work) <a@example.com>', 'Ann', 'a@example.com'],
    ['Ann Lee <a@example.com> (work)', 'Ann Lee', 'a@example.com'],
    ['[Shop] Orders <a@example.com>', '[Shop] Orders', 'a@example.com'],
    ['Shop [Berlin] <a@example.com>', 'Shop [Berlin]', 'a@example.com'],
    ['foo @ beep <a@example.com>', 'foo @ beep', 'a@example.com'],
    ['Ann @acme <a@example.com>', 'Ann @acme', 'a@example.com'],
    ['a@example.com <a@Example.com>', 'a@example.com', 'a@example.com'],
    ['Re: Support <a@example.com>', 'Re: Support', 'a@example.com'],
    ['ACME\\shop -> you <a@example.com>', 'ACME\\shop -> you', 'a@example.com'],
    ['Ann < a@example.com >', 'Ann', 'a@example.com'],
  ])('accepts %j', (text, name, address) => {
    expect(parseMailbox(text)).toEqual({ ok: true, mailbox: { address, name } })
  })

  it.each([
    ['', 'missing'],
    ['   ', 'missing'],
    ['Ann', 'needs an @'],
    ['Ann a@example.com', 'spaces'],
    ['a@example.com, b@example.com', 'more than one'],
    ['a@example.com b@example.com', 'spaces'],
    ['<a@own.example> <b@bank.example>', 'more than one'],
    ['a@own.example <b@bank.example>', 'quotation marks'],
    ['<a@own.example> b@bank.example', 'after the address'],
    ['Ann <a@own.example> <b@bank.example>', 'more than one'],
    ['Lee, Ann <a@example.com>', 'There is no address in "Lee". If it is part of a name, put the whole name in quotation marks'],
    ['user@good-corp.com(x)evil.com', 'comment'],
    ['user(x)@own.example', 'spaces'],
    ['user@(x)own.example', 'not valid'],
    ['Ann <user(x)@own.example>', 'comment'],
    ['a@own.example (b@bank.example)', 'comment'],
    ['a@own.example (<b@bank.example>)', 'comment'],
    ['(b@bank.example) <a@own.example>', 'comment'],
    ['a@own.example (x) <b@bank.example>', 'quotation marks'],
    ['a(x)@own.example <b@bank.example>', 'quotation marks'],
    ['a @ own.example <b@bank.example>', 'quotation marks'],
    ['a@ localhost <b@bank.example>', 'quotation marks'],
    ['a @[192.0.2.1] <b@bank.example>', 'quotation marks'],
    ['"a"@own.example <b@bank.example>', 'quotation marks'],
    ['a@own.example> <b@bank.example>', 'quotation marks'],
    ['Via: a@own.example <b@bank.example>', 'quotation marks'],
    ['a@own.example.bank.example <a@own.example>', 'quotation marks'],
    ['Ann (work <a@example.com>', 'not closed'],
    ['Lee; Ann <a@example.com>', 'quotation marks'],
    ['Friends: a@example.com;', ':'],
    ['a@example.com;', ';'],
    ['a@example.com,', 'missing'],
    [',a@example.com', 'missing'],
    ['Ann <a@example.com', 'not closed'],
    ['Ann <<a@example.com>>', 'not closed'],
    ['Ann a@example.com>', 'spaces'],
    ['"Ann <a@example.com>', 'not closed'],
    ['Ann <>', 'empty'],
    ['Ann\r\nBcc: x@example.org <a@example.com>', 'control'],
    ['Ann\r\n <a@example.com>', 'control'],
    ['"Ann\r\nX: y" <a@example.com>', 'control'],
    ['Ann\0 <a@example.com>', 'control'],
    ['Ann\u0085 <a@example.com>', 'control'],
    ['Ann\u2028 <a@example.com>', 'control'],
    ['Ann\ud800 <a@example.com>', 'Unicode'],
    [`${long(321)} <a@example.com>`, '320'],
    ['a@example.com\r\n', 'not valid'],
  ])('refuses %j', (text, words) => {
    expect(parseMailbox(text)).toEqual({ ok: false, fault: expect.stringContaining(words) })
  })

  it('returns any name in quotation marks unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), (name) => {
        fc.pre(displayNameFault(name) === null)
        const quoted = `"${name.replace(/["\\]/g, '\\$&')}" <a@example.com>`
        expect(parseMailbox(quoted)).toEqual({ ok: true, mailbox: { address: 'a@example.com', name } })
      }),
    )
  })
})

describe('parseMailboxList', () => {
  const mailboxes = (value: string, strictness: 'strict' | 'lenient') => {
    const parsed = parseMailboxList(value, strictness)
    return parsed.ok ? parsed.mailboxes.map(({ name, address }) => `${name ?? ''}|${address}`) : null
  }

  it.each([
    ['a@x.example, "B, C" <b@x.example>', ['|a@x.example', 'B, C|b@x.example']],
    ['=?utf-8?q?J=C3=BCrgen?= =?utf-8?q?_Gro=C3=9F?= <j@x.example>', ['Jürgen Groß|j@x.example']],
    ['=?iso-8859-1?q?J=FCrgen?= <j@x.example>', ['Jürgen|j@x.example']],
    ['=?utf-8?b?YUBvd24uZXhhbXBsZQ==?= <b@bank.example>', ['a@own.example|b@bank.example']],
    ['=?utf-8?q?a=0D=0ABcc=3A_x?= <b@x.example>', ['a Bcc: x|b@x.example']],
    ['"Quoted\tName" <b@x.example>', ['Quoted Name|b@x.example']],
  ])('parses %j in From as in To', (value, expected) => {
    expect(mailboxes(value, 'strict')).toEqual(expected)
    expect(mailboxes(value, 'lenient')).toEqual(expected)
  })

  it.each([
    ['a@x.example (Ann), b@x.example', ['Ann|a@x.example', '|b@x.example']],
    ['(a (nested \\) one)) a@x.example', ['a (nested ) one)|a@x.example']],
    ['[a] <a@x.example>, b > c <b@x.example>', ['[a]|a@x.example', 'b > c|b@x.example']],
  ])('parses %j in From as in To', (value, expected) => {
    expect(mailboxes(value, 'strict')).toEqual(expected)
    expect(mailboxes(value, 'lenient')).toEqual(expected)
  })

  it.each([
    ['a@x.example,, b@x.example,', ['|a@x.example', '|b@x.example']],
    ['a@x.example; Ann <b@x.example>;', ['|a@x.example', 'Ann|b@x.example']],
    ['a@x.example (b@x.example)', ['|a@x.example']],
    ['Team: a@x.example, B <b@x.example>;, c@x.example', ['|a@x.example', 'B|b@x.example', '|c@x.example']],
    ['undisclosed-recipients:;', []],
  ])('parses %j in To, refuses it in From', (value, expected) => {
    expect(mailboxes(value, 'lenient')).toEqual(expected)
    expect(mailboxes(value, 'strict')).toBeNull()
  })

  it.each([
    'user@good.example(x)evil.example',
    'A: B: c@x.example;;',
    'A: c@x.example',
    'A: c@x.example; B: d@x.example',
    ',',
    '(',
    '"',
    '<',
  ])('refuses %j everywhere', (value) => {
    expect(mailboxes(value, 'lenient')).toBeNull()
    expect(mailboxes(value, 'strict')).toBeNull()
  })

  it('never throws', () => {
    const piece = fc.constantFrom(
      'a@x.example',
      'Ann',
      '"',
      '\\',
      '<',
      '>',
      '(',
      ')',
      ',',
      ';',
      ':',
      ' ',
      '=?utf-8?q?=41?=',
      '=?x?b?',
      '\ud800',
      '\0',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 15 }), (pieces) => {
        for (const strictness of ['strict', 'lenient'] as const) {
          const parsed = parseMailboxList(pieces.join(''), strictness)
          if (parsed.ok) for (const { address } of parsed.mailboxes) expect(parseAddress(address).ok).toBe(true)
        }
      }),
      { numRuns: cases(400) },
    )
  })

  // A quadratic reader would need minutes for any of these.
  it.each(['"', '(', '<', ',', ':', '=?a?b?', '" "', '()', '\\', ' ', 'a ', '"a" ', 'a:;'])('reads a million of %j', (text) => {
    parseMailboxList(text.repeat(1_000_000 / text.length), 'lenient')
    parseMailboxList(`${text.repeat(1_000_000 / text.length)} <a@x.example>`, 'lenient')
  })
})
