import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fieldsNamed, headerBytesOf, maxHeaderBytes, maxHeaderFields, parseHeaderBlock } from '../../../src/mail/message/header-block.ts'

const parse = (text: string | Buffer) => parseHeaderBlock(Buffer.from(text as string))

describe('parseHeaderBlock', () => {
  it('reads fields without changing a byte', () => {
    const text = 'From: a@example.com\r\nSubject:  folded\r\n\ttext \r\nX-8bit: J\u00fcrgen\r\nEmpty:\r\n\r\nbody\r\n'
    const block = parse(text)
    expect(block.ok && block.fields.map(({ name, value }) => [name, value])).toEqual([
      ['From', 'a@example.com'],
      ['Subject', 'folded\ttext'],
      ['X-8bit', 'Jürgen'],
      ['Empty', ''],
    ])
    expect(block.ok && text.slice(0) && Buffer.from(text).subarray(block.bodyOffset).toString()).toBe('body\r\n')
    if (block.ok) expect(headerBytesOf(block.fields)).toEqual(Buffer.from(text).subarray(0, block.bodyOffset))
  })

  it('reads bytes that are not UTF-8 as Latin-1', () => {
    const block = parse(Buffer.from('Subject: J\xfcrgen\r\n\r\n', 'latin1'))
    expect(block.ok && block.fields[0]?.value).toBe('Jürgen')
  })

  it('does without the empty line where there is no body', () => {
    expect(parse('From: a@b\r\n')).toMatchObject({ ok: true, bodyOffset: 11 })
    expect(parse('')).toMatchObject({ ok: true, fields: [], bodyOffset: 0 })
    expect(parse('\r\nbody')).toMatchObject({ ok: true, fields: [], bodyOffset: 2 })
  })

  it.each([
    ['From : a@b\r\n\r\n', 'space between the field name From'],
    ['From\t: a@b\r\n\r\n', 'space between the field name From'],
    ['From a@b Mon Jan 1\r\n\r\n', 'not a header field'],
    ['From a@b Mon Jan 1 00:00:00\r\nX: y\r\n\r\n', 'not a header field'],
    ['hello\r\n\r\n', 'not a header field'],
    [': x\r\n\r\n', 'not a header field'],
    ['Fröm: x\r\n\r\n', 'not a header field'],
    [' From: a@b\r\n\r\n', 'continuation line'],
    ['From: a\nTo: b\r\n\r\n', 'bare'],
    ['From: a\rTo: b\r\n\r\n', 'bare'],
    ['From: a\r\n\n\r\n', 'bare'],
    ['From: a\0b\r\n\r\n', 'NUL'],
    ['From: a', 'does not end with CRLF'],
    ['From: a\r', 'bare'],
    [`${'x'.repeat(77)}: y\r\n\r\n`, '76'],
    [`X: ${'y'.repeat(maxHeaderBytes)}\r\n\r\n`, '256 KiB'],
    ['X: y\r\n'.repeat(maxHeaderFields + 1), '1000 fields'],
  ])('refuses %.60j', (text, words) => {
    expect(parse(text)).toEqual({ ok: false, fault: expect.stringContaining(words) })
  })

  it('never throws, and what it takes it can put together again', () => {
    const piece = fc.constantFrom('From', ':', ' ', '\r\n', '\t', 'ü', '\n', '\r', '\0', 'X-A: b\r\n', '\r\n\r\n')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const bytes = Buffer.from(pieces.join(''))
        const block = parseHeaderBlock(bytes)
        if (!block.ok) return
        const whole = bytes.subarray(0, block.bodyOffset)
        const again = headerBytesOf(block.fields)
        expect(again.equals(whole) || again.equals(Buffer.concat([whole, Buffer.from('\r\n')]))).toBe(true)
      }),
    )
  })
})

it('finds fields whatever the case of their names', () => {
  const block = parse('to: a\r\nTO: b\r\nTom: c\r\n\r\n')
  expect(block.ok && fieldsNamed(block.fields, 'to').map(({ value }) => value)).toEqual(['a', 'b'])
})
