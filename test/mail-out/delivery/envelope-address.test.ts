import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { wireAddress } from '../../../src/mail-out/delivery/envelope-address.ts'
import { anyCharacter } from '../../support/any-character.ts'

describe('addresses that go into MAIL and RCPT', () => {
  it.each([
    ['a@example.com', 'a@example.com', false],
    ["o'neil+tag=x/y@sub.example.com", "o'neil+tag=x/y@sub.example.com", false],
    ['"john..doe"@example.com', '"john..doe"@example.com', false],
    ['jürgen@example.com', 'jürgen@example.com', true],
    ['用户@xn--fsqu00a.xn--0zwm56d', '用户@xn--fsqu00a.xn--0zwm56d', true],
    // Only the domain is not ASCII: no SMTPUTF8 is needed.
    ['info@bücher.example', 'info@xn--bcher-kva.example', false],
  ])('%s', (address, text, needsSmtputf8) => expect(wireAddress(address)).toEqual({ text, needsSmtputf8 }))

  it.each([
    '',
    'a',
    '@example.com',
    'a@',
    'a b@example.com',
    'a@b c',
    'a>@example.com',
    '<a@example.com>',
    'a@example.com>',
    '"foo@psres.net> ORCPT=admin@admin.com"@test.com',
    '"a b"@example.com',
    '"a\\"b"@example.com',
    'a\r\nDATA@example.com',
    'a@example.com\r\nDATA',
    'a\n@example.com',
    'a\0@example.com',
    'a\u2028@example.com',
    'a\u200b@example.com',
    'a@exa mple.com',
    'a@example..com',
    'a@-example.com',
    'a@[192.0.2.1]',
    'a@example.com SIZE=1',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(64)}.com`,
  ])('not %j', (address) => expect(wireAddress(address)).toBeNull())

  it('hold nothing that could end the argument', () => {
    const piece = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 5 }), fc.constantFrom('@', 'a', '>', ' ', '"', '\r\n', 'example.com'))
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const written = wireAddress(pieces.join(''))?.text ?? ''
        expect(written).not.toMatch(/[\s<>\\\p{Cc}]/u)
      }),
    )
  })
})
