import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { displayNameFault, domainOf, parseAddress, parseMailbox, parseMailboxList, parsePath } from '../../src/smtp/address.ts'

const long = (n: number, text = 'a'): string => text.repeat(n)
const label63 = long(63)

/** [text, address] */
const taken: [string, string][] = [
  ['a@b', 'a@b'],
  ['a@b.c', 'a@b.c'],
  ['user@example.com', 'user@example.com'],
  ['User@Example.COM', 'User@example.com'],
  ['first.last@example.com', 'first.last@example.com'],
  ['user+tag@example.com', 'user+tag@example.com'],
  ['user-name@example.com', 'user-name@example.com'],
  ['user_name@example.com', 'user_name@example.com'],
  ['1234567890@example.com', '1234567890@example.com'],
  ["o'neil@example.com", "o'neil@example.com"],
  ['!#$%&*+/?^_`{|}~-@example.com', '!#$%&*+/?^_`{|}~-@example.com'],
  ['a=b@example.com', 'a=b@example.com'],
  ['a%b@example.com', 'a%b@example.com'],
  ['a!b@example.com', 'a!b@example.com'],
  ['bounce+user=example.org@example.com', 'bounce+user=example.org@example.com'],
  ['user@sub.sub.example.com', 'user@sub.sub.example.com'],
  ['user@localhost', 'user@localhost'],
  ['user@a-b.example', 'user@a-b.example'],
  ['user@3com.example', 'user@3com.example'],
  ['user@1.example', 'user@1.example'],
  ['user@r3---x.example', 'user@r3---x.example'],
  ['user@example.travel', 'user@example.travel'],
  ['user@xn--bcher-kva.de', 'user@xn--bcher-kva.de'],
  ['user@XN--BCHER-KVA.de', 'user@xn--bcher-kva.de'],
  ['user@bücher.de', 'user@xn--bcher-kva.de'],
  ['user@BÜCHER.de', 'user@xn--bcher-kva.de'],
  ['user@bu\u0308cher.de', 'user@xn--bcher-kva.de'],
  ['user@faß.de', 'user@xn--fa-hia.de'],
  ['user@例え.テスト', 'user@xn--r8jz45g.xn--zckzah'],
  ['user@пример.испытание', 'user@xn--e1afmkfd.xn--80akhbyknj4f'],
  ['user@مثال.إختبار', 'user@xn--mgbh0fb.xn--kgbechtv'],
  ['user@उदाहरण.परीक्षा', 'user@xn--p1b6ci4b4b3a.xn--11b5bs3a9aj6g'],
  ['user@l·l.example', 'user@xn--ll-0ea.example'],
  ['jürgen@example.de', 'jürgen@example.de'],
  ['ju\u0308rgen@example.de', 'jürgen@example.de'],
  ['用户@例え.テスト', '用户@xn--r8jz45g.xn--zckzah'],
  ['пользователь@example.com', 'пользователь@example.com'],
  ['उपयोगकर्ता@example.com', 'उपयोगकर्ता@example.com'],
  ['👍@example.com', '👍@example.com'],
  ['"user"@example.com', 'user@example.com'],
  ['"first.last"@example.com', 'first.last@example.com'],
  ['"a..b"@example.com', '"a..b"@example.com'],
  ['".a"@example.com', '".a"@example.com'],
  ['"a."@example.com', '"a."@example.com'],
  ['"a,b"@example.com', '"a,b"@example.com'],
  ['"a:b"@example.com', '"a:b"@example.com'],
  ['"a;b"@example.com', '"a;b"@example.com'],
  ['"a(b)"@example.com', '"a(b)"@example.com'],
  ['"a[b]"@example.com', '"a[b]"@example.com'],
  [`${long(64)}@example.com`, `${long(64)}@example.com`],
  [`a@${label63}.example`, `a@${label63}.example`],
  [`a@${label63}.${label63}.${label63}.${long(58)}`, `a@${label63}.${label63}.${label63}.${long(58)}`],
]

/** [text, words of the fault] */
const refused: [string, string][] = [
  ['', 'empty'],
  ['a', 'needs an @'],
  ['example.com', 'needs an @'],
  ['a at example.com', 'needs an @'],
  ['@', 'before the @ is empty'],
  ['@example.com', 'before the @ is empty'],
  ['a@', 'missing'],
  ['""@example.com', 'empty'],
  ['"@example.com', 'quotation marks'],
  ['a@b@c', 'exactly one @'],
  ['a@@b', 'exactly one @'],
  ['a@own.example@bank.example', 'exactly one @'],
  ['"a@own.example"@bank.example', 'exactly one @'],
  ['"a\\@own.example"@bank.example', 'exactly one @'],
  ['a\\@own.example@bank.example', 'exactly one @'],
  ['"a b"@example.com', 'spaces'],
  ['"a\tb"@example.com', 'control'],
  ['"a\r\nb"@example.com', 'control'],
  ['"a\0b"@example.com', 'NUL'],
  ['"a\x7fb"@example.com', 'control'],
  ['"a\u0085b"@example.com', 'control'],
  ['"a\\b"@example.com', 'backslashes'],
  ['"a\\"b"@example.com', 'backslashes'],
  ['"a"b"@example.com', 'quotation marks'],
  ['"a<b"@example.com', '<'],
  ['"a>b"@example.com', '>'],
  ['"a"b@example.com', 'quotation marks'],
  ['a"b"@example.com', 'quotation marks'],
  ['"a".b@example.com', 'quotation marks'],
  ['a."b"@example.com', 'quotation marks'],
  ['a b@example.com', 'spaces'],
  [' a@example.com', 'spaces'],
  ['a @example.com', 'spaces'],
  ['a@ example.com', 'not valid'],
  ['a@example.com ', 'not valid'],
  ['a@exam ple.com', 'not valid'],
  ['a@example.com\n', 'not valid'],
  ['a@example.com\r\n', 'not valid'],
  ['a@example.com\r\nRCPT TO:<b@example.org>', 'control'],
  ['a\r\n@example.com', 'control'],
  ['a\n@example.com', 'control'],
  ['a\t@example.com', 'control'],
  ['a\x0b@example.com', 'control'],
  ['a\0@example.com', 'NUL'],
  ['a@exa\0mple.com', 'not valid'],
  ['a@own.example\0.bank.example', 'not valid'],
  ['a\u0085@example.com', 'control'],
  ['a\u2028@example.com', 'spaces'],
  ['a\u2029@example.com', 'spaces'],
  ['a\u00a0@example.com', 'spaces'],
  ['a\u3000@example.com', 'spaces'],
  ['a\ufeff@example.com', 'spaces'],
  ['a\u200b@example.com', 'invisible'],
  ['a\u200d@example.com', 'invisible'],
  ['a\u202e@example.com', 'invisible'],
  ['a\u2066@example.com', 'invisible'],
  ['a\u00ad@example.com', 'invisible'],
  ['a\ue000@example.com', 'invisible'],
  ['a\ufffe@example.com', 'invisible'],
  ['a\ud800@example.com', 'not valid Unicode'],
  ['a@\udc00.example', 'not valid Unicode'],
  ['a＠own.example@bank.example', 'punctuation'],
  ['a﹫own.example@bank.example', 'punctuation'],
  ['a，b@example.com', 'punctuation'],
  ['a；b@example.com', 'punctuation'],
  ['a：b@example.com', 'punctuation'],
  ['a＜b@example.com', 'punctuation'],
  ['a＞b@example.com', 'punctuation'],
  ['a＂b@example.com', 'punctuation'],
  ['a（b@example.com', 'punctuation'],
  ['a⑴b@example.com', 'punctuation'],
  ['.a@example.com', 'dot'],
  ['a.@example.com', 'dot'],
  ['a..b@example.com', 'dot'],
  ['.@example.com', 'dot'],
  ['a,b@example.com', 'where none is allowed'],
  ['a;b@example.com', 'where none is allowed'],
  ['a:b@example.com', 'where none is allowed'],
  ['a[b]@example.com', 'where none is allowed'],
  ['a<b@example.com', '<'],
  ['<a@example.com>', '<'],
  ['a>@example.com', '>'],
  ['a\\b@example.com', 'backslashes'],
  ['a(comment)@example.com', 'comment'],
  ['(comment)a@example.com', 'comment'],
  ['a)@example.com', 'where none is allowed'],
  ['a@(comment)example.com', 'comment'],
  ['a@example.com(comment)', 'comment'],
  ['user@good-corp.com(x)evil.com', 'comment'],
  ['user@good-corp.com (x) evil.com', 'comment'],
  ['a@exam(x@y)ple.com', 'comment'],
  ['@a.example:b@example.com', 'source route'],
  ['@a.example,@b.example:c@example.com', 'source route'],
  ['=?utf-8?q?a?=@example.com', 'encoded word'],
  ['=?utf-8?Q?a=40own.example?=@bank.example', 'encoded word'],
  ['=?iso-8859-1?b?YQ==?=@example.com', 'encoded word'],
  ['x=?utf-8?q?a?=y@example.com', 'encoded word'],
  ['"=?utf-8?q?a?="@example.com', 'encoded word'],
  ['a@=?utf-8?q?example.com?=', 'not valid'],
  ['a@[192.0.2.1]', 'literal'],
  ['a@[IPv6:2001:db8::1]', 'literal'],
  ['a@[x@evil.example]', 'exactly one @'],
  ['a@[example.com]', 'literal'],
  ['a@192.0.2.1', 'IP address'],
  ['a@2130706433', 'IP address'],
  ['a@0x7f000001', 'IP address'],
  ['a@0x7f.1', 'IP address'],
  ['a@127.1', 'IP address'],
  ['a@example.com.', 'ends with a dot'],
  ['a@.', 'ends with a dot'],
  ['a@..', 'ends with a dot'],
  ['a@.example.com', 'empty label'],
  ['a@example..com', 'empty label'],
  ['a@-example.com', 'not valid'],
  ['a@example-.com', 'not valid'],
  ['a@exa_mple.com', 'not valid'],
  ['a@_dmarc.example.com', 'not valid'],
  ['a@exa!mple.com', 'not valid'],
  ['a@exa,mple.com', 'not valid'],
  ['a@example.com,b', 'not valid'],
  ['a@example.com;b', 'not valid'],
  ['a@example.com:25', 'not valid'],
  ['a@example.com/x', 'not valid'],
  ['a@example.com?x', 'not valid'],
  ['a@example.com#x', 'not valid'],
  ['a@example.com%00', 'not valid'],
  ['a@ex%61mple.com', 'not valid'],
  ['a@"example.com"', 'not valid'],
  ['a@example.com\\', 'not valid'],
  ['a@example.com>', 'not valid'],
  ['a@<example.com', 'not valid'],
  ['a@*.example.com', 'not valid'],
  ['a@example。com', 'not valid'],
  ['a@example．com', 'not valid'],
  ['a@ｅxample.com', 'not valid'],
  ['a@ＥＸＡＭＰＬＥ.com', 'not valid'],
  ['a@ⅷ.com', 'not valid'],
  ['a@ﬁrst.com', 'not valid'],
  ['a@①.com', 'not valid'],
  ['a@\u212a.com', 'not valid'],
  ['a@exam\u00adple.com', 'not valid'],
  ['a@exam\u200bple.com', 'not valid'],
  ['a@exam\u200dple.com', 'not valid'],
  ['a@exam\u202eple.com', 'not valid'],
  ['a@exam\u2024ple.com', 'not valid'],
  ['a@exam\u2044ple.com', 'not valid'],
  ['a@example.com\u2028', 'not valid'],
  ['a@℀.com', 'not valid'],
  ['a@☃.example', 'not valid'],
  ['a@👍.example', 'not valid'],
  ['a@\u0308.example', 'not valid'],
  ['a@xn--.com', 'not valid'],
  ['a@xn--a.com', 'not valid'],
  ['a@xn--example.com', 'not valid'],
  ['a@xn--99999999.com', 'not valid'],
  ['a@xn--bcher-kva-.de', 'not valid'],
  ['a@xn--n3h.example', 'not valid'],
  [`${long(65)}@example.com`, '64 octets'],
  [`${long(33, 'ü')}@example.com`, '64 octets'],
  [`"${long(62)}."@example.com`, '64 octets'],
  [`a@${long(64)}.example`, 'not valid'],
  [`a@${long(60, 'ü')}.example`, 'not valid'],
  [`a@${label63}.${label63}.${label63}.${label63}.a`, '253 octets'],
  [`a@${label63}.${label63}.${label63}.${long(62)}`, '253 octets'],
  [`${long(40)}@${label63}.${label63}.${label63}.${long(30)}`, '254 octets'],
  [`a@${long(300, 'a.')}example`, '254 octets'],
  [`a@${long(127, 'a.')}example`, '253 octets'],
  [long(100_000), '254 octets'],
  [`${long(100_000, '"')}@example.com`, '254 octets'],
  ['a@example.com a@example.org', 'spaces'],
  ['Name <a@example.com>', 'spaces'],
  ['mailto:a@example.com', 'where none is allowed'],
]

describe('parseAddress', () => {
  it.each(taken)('takes %j', (text, address) => {
    const parsed = parseAddress(text)
    expect(parsed).toMatchObject({ ok: true, address })
    expect(parsed.ok && `${parsed.localPart}@${parsed.domain}`).toBe(address)
    expect(domainOf(address)).toBe(parsed.ok && parsed.domain)
  })

  it.each(refused)('refuses %j', (text, words) => {
    expect(parseAddress(text)).toEqual({ ok: false, fault: expect.stringContaining(words) })
  })

  it('has the two hundred cases it should', () => expect(taken.length + refused.length).toBeGreaterThanOrEqual(200))

  it('never throws, and what it takes it takes again unchanged, with one @ and nothing a protocol could trip over', () => {
    const alphabet = fc.constantFrom('a', 'B', '1', '@', '.', '-', '"', '\\', '<', '>', '(', ')', ',', ' ', '\r', '\n', '\0', 'ü', '＠', '=?', '\u0308', 'xn--')
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(alphabet, { maxLength: 20 }).map((parts) => parts.join('')),
      fc.tuple(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.string({ unit: 'grapheme', maxLength: 8 })).map((halves) => halves.join('@')),
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
      { numRuns: 3000 },
    )
  })
})

describe('parsePath', () => {
  it('reads the null reverse-path', () => {
    expect(parsePath('<>')).toEqual({ ok: true, address: null })
    expect(parsePath('')).toEqual({ ok: true, address: null })
  })

  it('reads a path with and without its brackets', () => {
    const address = { localPart: 'a', domain: 'example.com', address: 'a@example.com' }
    expect(parsePath('<a@EXAMPLE.com>')).toEqual({ ok: true, address })
    expect(parsePath('a@example.com')).toEqual({ ok: true, address })
  })

  it.each(['<@a.example:b@c.example>', '<<a@b>>', '<a@b', 'a@b>', '<postmaster>', '< >', '<a@b> SIZE=1', 'Name <a@b>'])('refuses %j', (text) => {
    expect(parsePath(text).ok).toBe(false)
  })
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
  ])('takes %j', (text, name, address) => {
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
    ['Lee, Ann <a@example.com>', 'needs an @'],
    ['Ann (work) <a@example.com>', 'comment'],
    ['a@example.com (Ann)', 'comment'],
    ['user@good-corp.com(x)evil.com', 'comment'],
    ['Friends: a@example.com;', ':'],
    ['a@example.com;', ';'],
    ['a@example.com,', 'missing'],
    [',a@example.com', 'missing'],
    ['Ann <a@example.com', 'not closed'],
    ['Ann <<a@example.com>>', 'not closed'],
    ['Ann a@example.com>', 'spaces'],
    ['"Ann <a@example.com>', 'not closed'],
    ['Ann <>', 'empty'],
    ['Ann < a@example.com >', 'spaces'],
    ['Ann\r\nBcc: x@example.org <a@example.com>', ':'],
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

  it('gives back any name that is put in quotation marks', () => {
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
  ])('reads %j in From as in To', (value, expected) => {
    expect(mailboxes(value, 'strict')).toEqual(expected)
    expect(mailboxes(value, 'lenient')).toEqual(expected)
  })

  it.each([
    ['a@x.example (Ann), b@x.example', ['|a@x.example', '|b@x.example']],
    ['(a (nested \\) one)) a@x.example', ['|a@x.example']],
    ['Team: a@x.example, B <b@x.example>;, c@x.example', ['|a@x.example', 'B|b@x.example', '|c@x.example']],
    ['undisclosed-recipients:;', []],
  ])('reads %j in To, refuses it in From', (value, expected) => {
    expect(mailboxes(value, 'lenient')).toEqual(expected)
    expect(mailboxes(value, 'strict')).toBeNull()
  })

  it.each(['user@good.example(x)evil.example', 'A: B: c@x.example;;', 'A: c@x.example', 'c@x.example;', 'a@x.example,,b@x.example', '(', '"', '<'])(
    'refuses %j everywhere',
    (value) => {
      expect(mailboxes(value, 'lenient')).toBeNull()
      expect(mailboxes(value, 'strict')).toBeNull()
    },
  )

  it('never throws', () => {
    const piece = fc.constantFrom('a@x.example', 'Ann', '"', '\\', '<', '>', '(', ')', ',', ';', ':', ' ', '=?utf-8?q?=41?=', '=?x?b?', '\ud800', '\0')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 15 }), (pieces) => {
        for (const strictness of ['strict', 'lenient'] as const) {
          const parsed = parseMailboxList(pieces.join(''), strictness)
          if (parsed.ok) for (const { address } of parsed.mailboxes) expect(parseAddress(address).ok).toBe(true)
        }
      }),
      { numRuns: 2000 },
    )
  })

  // A quadratic reader would need minutes for any of these.
  it.each(['"', '(', '<', ',', ':', '=?a?b?', '" "', '()', '\\', ' ', 'a ', '"a" ', 'a:;'])('reads a million of %j', (text) => {
    parseMailboxList(text.repeat(1_000_000 / text.length), 'lenient')
    parseMailboxList(`${text.repeat(1_000_000 / text.length)} <a@x.example>`, 'lenient')
  })
})
