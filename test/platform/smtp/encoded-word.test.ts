import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeHeaderText, encodeHeaderText } from '../../../src/platform/smtp/encoded-word.ts'

describe('decodeHeaderText', () => {
  it.each([
    ['plain', 'plain'],
    ['=?utf-8?q?J=C3=BCrgen_Gro=C3=9F?=', 'Jürgen Groß'],
    ['=?UTF-8?B?SsO8cmdlbg==?=', 'Jürgen'],
    ['=?iso-8859-1?Q?J=FCrgen?=', 'Jürgen'],
    ['=?windows-1251?Q?=CF=F0=E8?=', 'При'],
    ['=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=', '日本'],
    ['=?gb18030?B?1tDOxA==?=', '中文'],
    ['=?utf-8*de?q?Gr=C3=BC=C3=9Fe?=', 'Grüße'],
    ['Re: =?utf-8?q?=C3=BC?= and =?utf-8?q?=C3=A4?= end', 'Re: ü and ä end'],
    ['=?utf-8?q?a?= =?utf-8?q?b?=', 'ab'],
    ['=?utf-8?q?a_?=\t =?utf-8?q?b?=', 'a b'],
    ['=?utf-8?q?=C3?= =?utf-8?q?=BC?=', 'ü'],
    ['=?utf-8?b?w7w=?= =?iso-8859-1?q?=FC?=', 'üü'],
    ['=?utf-8?q?=ff=fe?=', '\ufffd\ufffd'],
    ['=?no-such-charset?q?a?=', '=?no-such-charset?q?a?='],
    ['=?utf-8?x?a?=', '=?utf-8?x?a?='],
    ['=?utf-8?q?a', '=?utf-8?q?a'],
    ['=?utf-8?q??=', ''],
    ['=?utf-8?q?a=0D=0ABcc:_x?=', 'a Bcc: x'],
    ['a\u2028b\x00c', 'a b c'],
  ])('decodes %j', (value, text) => expect(decodeHeaderText(value)).toBe(text))
})

describe('encodeHeaderText', () => {
  it('decodes to the original, in ASCII lines of at most 76 characters', () => {
    const character = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
      fc.constantFrom('日', 'ü', ' ', '=', '?', '_', '👍'),
    )
    const text = fc.array(character, { minLength: 1, maxLength: 150 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 80 }), (input, column) => {
        fc.pre(!/[\p{Cc}\u2028\u2029]/u.test(input) && input.isWellFormed())
        const encoded = encodeHeaderText(input, column)
        // Where the first line has no room, the text begins on the next.
        const unfolded = encoded.startsWith('\r\n') ? encoded.slice(3) : encoded
        expect(decodeHeaderText(unfolded.replaceAll('\r\n', ''))).toBe(input)
        const [first = '', ...more] = encoded.split('\r\n')
        expect(first === '' || column + first.length <= 76).toBe(true)
        for (const line of more) expect(line).toMatch(/^ [\x21-\x7e]{1,75}$/)
        // No word holds a part of a character.
        for (const word of encoded.split(/\s+/)) expect(decodeHeaderText(word)).not.toContain('\ufffd')
      }),
    )
  })
})
