import { domainToASCII } from 'node:url'
import fc from 'fast-check'
import { simpleParser, type AddressObject } from 'mailparser'
import { describe, expect, it } from 'vitest'
import { SternaError } from '../../../src/platform/errors.ts'
import { compose, type OutgoingEmail } from '../../../src/mail/message/compose.ts'
import { headerTextFault } from '../../../src/mail/message/check-headers.ts'
import { parseHeaderBlock } from '../../../src/mail/message/header-block.ts'
import { inSevenBits } from '../../../src/mail/message/seven-bit.ts'
import { displayNameFault } from '../../../src/platform/smtp/mailbox.ts'
import { decodeHeaderText } from '../../../src/platform/smtp/encoded-word.ts'
import { cases } from '../../support/cases.ts'
import { anyCharacter } from '../../support/any-character.ts'

const parts = { now: Date.UTC(2026, 10, 21, 6, 0, 0) }

const email = (more: Partial<OutgoingEmail>): OutgoingEmail => ({
  from: { name: null, address: 'a@own.example' },
  to: [{ name: null, address: 'b@example.org' }],
  cc: [],
  replyTo: [],
  subject: 'Hello',
  html: null,
  text: 'Hi',
  headers: {},
  attachments: [],
  ...more,
})

const file = (more: Partial<OutgoingEmail['attachments'][number]> = {}) => ({
  filename: 'a.bin',
  content: Buffer.from([0, 1, 2, 255, 13, 10]),
  contentType: null,
  contentId: null,
  ...more,
})

const parserOptions = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }

/** What no message of ours may hold: bare CR or LF, NUL, 8-bit bytes without a need, lines over 998. */
function expectSafe(content: Buffer, isAscii = true): void {
  const text = content.toString('latin1')
  expect(text).not.toMatch(/\r(?!\n)|(?<!\r)\n|\0/)
  if (isAscii) expect(text).toMatch(/^[\t\r\n\x20-\x7e]*$/)
  expect(Math.max(...text.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998)
}

const headerLines = (content: Buffer): string[] => {
  const block = parseHeaderBlock(content)
  if (!block.ok) throw new Error(block.fault)
  return block.fields.map(({ name }) => name)
}

const addresses = (value: AddressObject | AddressObject[] | undefined) =>
  [value ?? []].flat().flatMap((list) =>
    list.value.map(({ name, address = '' }) => {
      // mailparser shows U-labels.
      const domain = domainToASCII(address.slice(address.lastIndexOf('@') + 1))
      return { name: name === '' ? null : name, address: address.slice(0, address.lastIndexOf('@') + 1) + domain }
    }),
  )

const lines = (text: string): string => text.replace(/\r\n|\r|\n/g, '\n').replace(/\n$/, '')

const clean = (text: string): boolean => headerTextFault(text) === null
// mailparser trims and joins spaces as it likes; the bytes of such texts are tested beside the encoded words.
const words = (text: string): boolean => clean(text) && text.trim() === text && !/\s{2}|[^\S ]/.test(text)
const shortText = fc.oneof(fc.string({ maxLength: 60 }), fc.string({ unit: 'grapheme', maxLength: 60 }), fc.lorem({ maxCount: 30 }))
const localPart = fc.constantFrom('a', 'first.last', 'x+y', "o'neil", '0')
const address = fc.tuple(localPart, fc.constantFrom('example.com', 'xn--bcher-kva.de')).map((both) => both.join('@'))
const name = shortText.filter((text) => words(text) && displayNameFault(text) === null && text !== '')
const mailbox = fc.record({ name: fc.option(name), address })
const bodyText = fc
  .oneof(
    fc.string({ unit: anyCharacter, maxLength: 300 }),
    fc.string({ unit: 'grapheme', maxLength: 200 }),
    fc
      .array(fc.constantFrom('a', '=', ' ', '\t', '\r', '\n', '\r\n', '.', 'ü', '日本', 'x'.repeat(1000), 'From '), { maxLength: 60 })
      .map((all) => all.join('')),
  )
  // A reader cannot tell these from what MIME itself puts there.
  .map((text) => text.toWellFormed().replace(/[\0\ufeff]/g, ''))
const outgoing = fc.record({
  from: mailbox,
  to: fc.array(mailbox, { minLength: 1, maxLength: 12 }),
  cc: fc.array(mailbox, { maxLength: 3 }),
  replyTo: fc.array(mailbox, { maxLength: 2 }),
  subject: shortText.filter(words),
  html: fc.option(bodyText.map((text) => `<p>${text}</p>`)),
  text: bodyText,
  note: shortText.filter((text) => words(text) && !text.includes('=?')),
})

async function expectReadBack(given: OutgoingEmail, note: string): Promise<void> {
  const { content, header, smtputf8, bodyType } = await compose({ ...given, headers: { 'X-Note': note } }, parts)
  expectSafe(content)
  expect({ smtputf8, bodyType }).toEqual({ smtputf8: false, bodyType: '7bit' })
  const read = await simpleParser(content, parserOptions)
  expect(addresses(read.from)).toEqual([given.from])
  expect(addresses(read.to)).toEqual(given.to)
  expect(addresses(read.cc)).toEqual(given.cc)
  expect(addresses(read.replyTo)).toEqual(given.replyTo)
  expect(read.subject ?? '').toBe(given.subject)
  expect(read.messageId).toBe(header.messageIdHeader)
  expect(read.date?.getTime()).toBe(parts.now)
  const noteLine = read.headerLines.find(({ key }) => key === 'x-note')?.line ?? ''
  expect(decodeHeaderText(noteLine.slice('X-Note:'.length).replaceAll('\r\n', '').trim())).toBe(note)
  expect(given.html === null ? null : lines(read.html || '')).toBe(given.html === null ? null : lines(given.html))
  // An empty text beside html means none.
  if (given.html === null || given.text) expect(lines(read.text ?? '')).toBe(lines(given.text ?? ''))
  expect(read.attachments.map((one) => one.content.toString('hex'))).toEqual(given.attachments.map((one) => one.content.toString('hex')))
  expect(read.attachments.map((one) => one.filename)).toEqual(given.attachments.map((one) => one.filename))
}

describe('compose', () => {
  it.each([
    ['[Desk] 1 <d@own.example>', 'Reply-To: "[Desk] 1" <d@own.example>'],
    ['Jürgen <d@own.example>', 'Reply-To: =?UTF-8?Q?J=C3=BCrgen?= <d@own.example>'],
    ['d@own.example (Desk)', 'Reply-To: d@own.example (Desk)'],
    ['no address', 'Reply-To: no address'],
  ])('writes the Reply-To of a caller as an address field: %s', async (value, line) => {
    const { content } = await compose(email({ headers: { 'Reply-To': value } }), parts)
    expect(content.toString().split('\r\n')).toContain(line)
  })

  it('makes a plain message that a parser reads as it was meant', async () => {
    await fc.assert(
      fc.asyncProperty(outgoing, async ({ note, ...given }) => expectReadBack(email(given), note)),
      { numRuns: cases(300) },
    )
  })

  it('makes the same of one with attachments', async () => {
    const attachment = fc.record({
      filename: fc.constantFrom('a.txt', 'Rechnung für März.pdf', '日本語のとても長いファイル名.png', 'a "b" \\c;d.bin', "x'y.bin"),
      content: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      contentType: fc.constantFrom(null, 'application/pdf', 'text/plain; charset=utf-8', 'multipart/mixed', 'message/rfc822', 'text/csv'),
      contentId: fc.constant(null),
    })
    await fc.assert(
      fc.asyncProperty(outgoing, fc.array(attachment, { minLength: 1, maxLength: 3 }), async ({ note, ...given }, attachments) => {
        // mailparser takes an attached message for a part of the text unless it is told otherwise.
        fc.pre(attachments.every(({ contentType }) => contentType !== 'message/rfc822'))
        await expectReadBack(email({ ...given, attachments }), note)
      }),
      { numRuns: cases(100) },
    )
  })

  it('writes what it writes: one example, byte by byte', async () => {
    const given = email({
      from: { name: 'Jürgen Groß', address: 'j@own.example' },
      to: [
        { name: 'Lee, Ann', address: 'ann@example.org' },
        { name: 'Ann', address: 'ann.with.a.rather.long.address@sub.example.org' },
      ],
      subject: 'A subject that is long enough to be folded at seventy-eight characters, twice if need be',
      text: 'Hi\nthere',
      headers: { 'X-Entity-Ref-ID': '17' },
    })
    const { content, header } = await compose(given, parts)
    expect(content.toString().split('\r\n')).toEqual([
      'From: =?UTF-8?Q?J=C3=BCrgen_Gro=C3=9F?= <j@own.example>',
      'To: "Lee, Ann" <ann@example.org>,',
      ' Ann <ann.with.a.rather.long.address@sub.example.org>',
      'Subject: A subject that is long enough to be folded at seventy-eight',
      ' characters, twice if need be',
      'Date: Sat, 21 Nov 2026 06:00:00 +0000',
      `Message-ID: ${header.messageIdHeader}`,
      'X-Entity-Ref-ID: 17',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      '',
      'Hi',
      'there',
      '',
    ])
    expect(header.messageIdHeader).toMatch(/^<[0-9a-f]{32}@own\.example>$/)
  })

  it.each([
    ['ASCII text', 'Hello\r\nWorld', '7bit'],
    ['a line too long for 7bit', 'x'.repeat(991), 'quoted-printable'],
    ['some other letters', `Grüße ${'x'.repeat(100)}`, 'quoted-printable'],
    ['NUL', 'a\0b', 'quoted-printable'],
    ['another script', '日本語日本語', 'base64'],
  ])('encodes %s, alone and beside an attachment', async (_, text, encoding) => {
    const attachment = { filename: 'a.bin', content: Buffer.of(0, 255), contentType: null, contentId: null }
    for (const attachments of [[], [attachment]]) {
      const { content } = await compose(email({ text, attachments }), parts)
      expectSafe(content)
      expect(content.toString()).toContain(`Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n`)
      const read = await simpleParser(content, parserOptions)
      expect(lines(read.text ?? '')).toBe(lines(text))
      expect(read.attachments.map((each) => each.content)).toEqual(attachments.map((each) => each.content))
    }
  })

  it('makes the text from the html, unless it is given or disabled', async () => {
    const html = '<p>Hello <a href="https://example.com">you</a></p>'
    const textOf = async (text: string | null | undefined): Promise<string | undefined> =>
      (await simpleParser((await compose(email({ html, text }), parts)).content, parserOptions)).text
    expect(lines((await textOf(undefined)) ?? '')).toBe('Hello you [https://example.com]')
    expect(lines((await textOf(null)) ?? '')).toBe('Hello you [https://example.com]')
    expect(lines((await textOf('own')) ?? '')).toBe('own')
    expect((await compose(email({ html, text: '' }), parts)).content.toString()).not.toContain('text/plain')
  })

  it('writes an address that needs SMTPUTF8 as it is, and says so', async () => {
    const composed = await compose(email({ to: [{ name: 'Jürgen', address: 'jürgen@example.org' }] }), parts)
    expect(composed).toMatchObject({ smtputf8: true, bodyType: '8bitmime' })
    expect(composed.content.toString()).toContain('<jürgen@example.org>')
    expectSafe(composed.content, false)
  })

  it('shows inline images in the html, and keeps their ids', async () => {
    const given = email({
      html: '<img src="cid:logo@x">',
      attachments: [file({ filename: 'logo.png', contentType: 'image/png', contentId: 'logo@x' }), file()],
    })
    const read = await simpleParser((await compose(given, parts)).content, parserOptions)
    expect(read.attachments.map(({ cid, related, contentType }) => ({ cid, related: related === true, contentType }))).toEqual([
      { cid: 'logo@x', related: true, contentType: 'image/png' },
      { cid: undefined, related: false, contentType: 'application/octet-stream' },
    ])
  })

  it('makes an invitation an alternative as well as a file', async () => {
    const content = Buffer.from('BEGIN:VCALENDAR\nMETHOD:REQUEST\nEND:VCALENDAR\n')
    const given = email({
      html: '<p>x</p>',
      attachments: [file({ filename: 'invite.ics', content, contentType: 'text/calendar; method=REQUEST' })],
    })
    const composed = await compose(given, parts)
    expectSafe(composed.content)
    expect(composed.content.toString()).toMatch(/Content-Type: text\/calendar; charset=utf-8; method=REQUEST/)
    const read = await simpleParser(composed.content, parserOptions)
    expect(read.attachments.some((one) => one.filename === 'invite.ics' && one.content.equals(content))).toBe(true)
  })

  const attached = (content: Buffer, contentType: string | null = 'message/rfc822') =>
    compose(email({ attachments: [file({ filename: 'a.eml', contentType, content })] }), parts)

  it.each([
    ['of ASCII', 'Subject: inner\r\n\r\nx\r\n', '7bit'],
    ['with the line ends of a file on Unix', 'Subject: inner\n\nx', '7bit'],
    ['with bytes above 127', 'Subject: inner\r\n\r\nfür\r\n', '8bitmime'],
  ])('keeps the type of an attached message %s', async (_, text, bodyType) => {
    for (const type of ['message/rfc822', null]) {
      const composed = await attached(Buffer.from(text), type)
      expect(composed.bodyType).toBe(bodyType)
      expect(composed.content.toString()).toContain('Content-Type: message/rfc822')
      expect(composed.content.toString()).toContain(text.replace(/\r?\n/g, '\r\n'))
      const outer = composed.content.subarray(0, composed.content.indexOf('\r\n\r\n')).toString()
      expect(outer.includes('Content-Transfer-Encoding: 8bit')).toBe(bodyType === '8bitmime')
      const left = inSevenBits(composed)
      expect(left.bodyType).toBe('7bit')
      expectSafe(Buffer.from(left.content))
      const [read] = (await simpleParser(Buffer.from(left.content), parserOptions)).attachments
      expect(read?.contentType).toBe('message/rfc822')
      expect((await simpleParser(read!.content)).text?.trim()).toBe(text.split(/\r?\n/)[2])
    }
  })

  it('sends an attached message that cannot travel as it is as a file', async () => {
    for (const text of [`Subject: ${'x'.repeat(999)}\r\n\r\n`, 'a\0b']) {
      const composed = await attached(Buffer.from(text))
      expectSafe(composed.content)
      const [read] = (await simpleParser(composed.content, parserOptions)).attachments
      expect(composed.content.toString()).toContain('Content-Type: application/octet-stream')
      expect(read?.content.toString()).toBe(text)
    }
  })

  const nasty = ['\r', '\n', '\r\n', '\r\n\r\n', '\0', '\x0b', '\u0085', '\u2028', '\u2029', '\ud800', '\x1b', '\x7f']
  it.each(nasty)('lets no text with %j break out of its place', async (text) => {
    const value = `x${text}Bcc: evil@example.org`
    const emails: Partial<OutgoingEmail>[] = [
      { subject: value },
      { from: { name: value, address: 'a@own.example' } },
      { to: [{ name: value, address: 'b@example.org' }] },
      { replyTo: [{ name: value, address: 'b@example.org' }] },
      { headers: { 'X-A': value } },
      { headers: { [`X-A${text}Bcc`]: 'x' } },
      { attachments: [file({ filename: value })] },
      { attachments: [file({ contentId: value })] },
      { attachments: [file({ contentType: `text/plain${text}Bcc: x` })] },
      { attachments: [file({ contentType: `text/plain; name="${value}"` })] },
    ]
    for (const more of emails) await expect(compose(email(more), parts)).rejects.toBeInstanceOf(SternaError)
  })

  it.each(['%0d%0aBcc: x', '=?utf-8?q?a=0D=0ABcc:_x?=', 'X-A: y', '" <evil@example.org>, "', '\\', 'a\\"b', '<evil@example.org>'])(
    'keeps %j what it is: text',
    async (text) => {
      const plain = await compose(email({}), parts)
      for (const attachments of [[], [file({ filename: text })]]) {
        const given = email({ subject: text, from: { name: text, address: 'a@own.example' }, headers: { 'X-A': text }, attachments })
        const { content } = await compose(given, parts)
        expect(headerLines(content).filter((name) => !/^(?:x-a|content-)/i.test(name))).toEqual(
          headerLines(plain.content).filter((name) => !/^content-/i.test(name)),
        )
        const read = await simpleParser(content, parserOptions)
        expect(read.subject).toBe(text)
        expect(addresses(read.from).map((one) => one.address)).toEqual(['a@own.example'])
      }
    },
  )

  it('lets no body end the message or leave a bare line end', async () => {
    const ends = [
      '\n.\n',
      '\n.\r\n',
      '\r.\r',
      '\r\n.\r',
      '\r.\r\n',
      '\r\n.\n',
      '\n.\r',
      '\r\n.\r\n',
      '\r\n\0.\r\n',
      '\n\n.\r\n',
      '\r\r\n.\r\r\n',
    ]
    for (const end of ends) {
      const body = `a${end}MAIL FROM:<evil@example.org>\r\n`
      const attachments = [file({ content: Buffer.from(body), contentType: 'text/plain' })]
      expectSafe((await compose(email({ text: body }), parts)).content)
      expectSafe((await compose(email({ text: `ü${body}`, html: body }), parts)).content)
      expectSafe((await compose(email({ text: body, html: body, attachments }), parts)).content)
    }
  })

  it('reads no file and no address, whatever an attachment or a text says', async () => {
    const given = email({
      html: '<img src="file:///etc/passwd"><img src="data:text/plain,x">',
      text: 'path: /etc/passwd',
      attachments: [file({ filename: 'http://169.254.169.254/x', content: Buffer.from('/etc/passwd') })],
    })
    const smuggled = { ...file(), path: '/etc/passwd', href: 'http://127.0.0.1:1/', raw: { path: '/etc/passwd' } }
    given.attachments.push(smuggled)
    const read = await simpleParser((await compose(given, parts)).content, parserOptions)
    expect(read.attachments.map((one) => one.content.toString('latin1'))).toEqual(['/etc/passwd', smuggled.content.toString('latin1')])
  })

  it.each([
    [{ headers: { Bcc: 'x@example.org' } }, 'validation_error'],
    [{ headers: { 'Reply-To': 'x@example.org' }, replyTo: [{ name: null, address: 'y@example.org' }] }, 'validation_error'],
    [{ attachments: [file({ filename: '' })] }, 'invalid_attachment'],
    [{ attachments: [file({ contentType: 'text' })] }, 'invalid_attachment'],
    [{ attachments: [file({ contentId: '<x>' })] }, 'invalid_attachment'],
  ])('refuses %j', async (more, code) => {
    await expect(compose(email(more), parts)).rejects.toMatchObject({ code })
  })
})
