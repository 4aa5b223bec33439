import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ReplyReader, formatReply, parseReplyLine } from '../../../src/platform/smtp/reply.ts'

const read = (...chunks: (string | Buffer)[]): unknown[] => {
  const reader = new ReplyReader()
  const taken: unknown[] = []
  for (const chunk of chunks) {
    const bytes = Buffer.from(chunk)
    reader.push(bytes)
    for (let reply = reader.take(); reply; reply = reader.take()) {
      taken.push(reply)
      if ('fault' in reply) return taken
    }
    // The next chunk comes in the same memory.
    bytes.fill('x')
  }
  return taken
}

describe('replies of servers', () => {
  it.each([
    ['250 2.1.5 Ok\r\n', { code: 250, enhancedStatus: '2.1.5', text: '2.1.5 Ok' }],
    ['550 No such user\r\n', { code: 550, enhancedStatus: null, text: 'No such user' }],
    ['250\r\n', { code: 250, enhancedStatus: null, text: '' }],
    ['250 \n', { code: 250, enhancedStatus: null, text: '' }],
    [
      '550-5.1.1 The account\r\n550 5.1.1 does not exist\r\n',
      { code: 550, enhancedStatus: '5.1.1', text: '5.1.1 The account\n5.1.1 does not exist' },
    ],
    // A bare line feed ends a line too.
    ['250-mx.test\n250 SIZE\r\n', { code: 250, enhancedStatus: null, text: 'mx.test\nSIZE' }],
    // The enhanced code must be of the reply's class.
    ['450 5.1.1 mixed up\r\n', { code: 450, enhancedStatus: null, text: '5.1.1 mixed up' }],
    ['550 5.1.1: colon\r\n', { code: 550, enhancedStatus: null, text: '5.1.1: colon' }],
    ['550 5.1.1\r\n', { code: 550, enhancedStatus: '5.1.1', text: '5.1.1' }],
    ['250 a\0b\x1b[1mc\td\r\n', { code: 250, enhancedStatus: null, text: 'a?b?[1mc\td' }],
    ['550 5.1.1 Empfänger unbekannt\r\n', { code: 550, enhancedStatus: '5.1.1', text: '5.1.1 Empfänger unbekannt' }],
    // Three digits that no digit follows are the code, whatever stands around them.
    ['250OK\r\n', { code: 250, enhancedStatus: null, text: 'OK' }],
    ['250: 2.0.0 taken\r\n', { code: 250, enhancedStatus: null, text: ' 2.0.0 taken' }],
    ['250\t2.0.0 taken\r\n', { code: 250, enhancedStatus: '2.0.0', text: '2.0.0 taken' }],
    [' 250 taken\r\n', { code: 250, enhancedStatus: null, text: 'taken' }],
    ['\r\n \r\n250 taken\r\n', { code: 250, enhancedStatus: null, text: 'taken' }],
    ['250\0\x01\r\n', { code: 250, enhancedStatus: null, text: '??' }],
    ['600 too high\r\n', { code: 600, enhancedStatus: null, text: 'too high' }],
    // The code of the last line decides, and what has none is text.
    ['250-first\r\n251 last\r\n', { code: 251, enhancedStatus: null, text: 'first\nlast' }],
    ['250-first\r\n550 5.7.1 no\r\n', { code: 550, enhancedStatus: '5.7.1', text: 'first\n5.7.1 no' }],
    ['550-no\r\nsee our pages\r\n550 end\r\n', { code: 550, enhancedStatus: null, text: 'no\nsee our pages\nend' }],
    ['550-no\r\n 551 end\r\n', { code: 551, enhancedStatus: null, text: 'no\nend' }],
    // A number in the text of a refusal accepts nothing.
    ['552-the limit is\r\n 250 MB\r\n552 end\r\n', { code: 552, enhancedStatus: null, text: 'the limit is\n 250 MB\nend' }],
    ['552-the limit is\r\n250MB\r\n552 end\r\n', { code: 552, enhancedStatus: null, text: 'the limit is\n250MB\nend' }],
    // Text is cut, not refused.
    [`250 ${'x'.repeat(5000)}\r\n`, { code: 250, enhancedStatus: null, text: 'x'.repeat(4092) }],
    [`250-a\r\n${'250-line\r\n'.repeat(600)}550 5.1.1 no\r\n`, { code: 550, enhancedStatus: '5.1.1', text: `a${'\nline'.repeat(499)}` }],
    [
      `${`250-${'y'.repeat(1000)}\r\n`.repeat(70)}250 end\r\n`,
      { code: 250, enhancedStatus: null, text: `${'y'.repeat(1000)}\n`.repeat(17).trim() },
    ],
  ])('%j', (bytes, reply) => expect(read(bytes)).toEqual([reply]))

  it('parses them however they are split', () => {
    const bytes = Buffer.from('220 mx\r\n250-ä\r\n250 2.0.0 ok\r\n354\r\n')
    const whole = read(bytes)
    expect(whole).toHaveLength(3)
    expect(read(...[...bytes].map((byte) => Buffer.from([byte])))).toEqual(whole)
  })

  it('knows if bytes are left over', () => {
    const reader = new ReplyReader()
    reader.push(Buffer.from('220 ready\r\n250'))
    expect(reader.take()).toMatchObject({ code: 220 })
    expect(reader.hasMore).toBe(true)
  })

  it('formats a reply on one line', () => {
    expect(formatReply({ code: 550, enhancedStatus: '5.1.1', text: '5.1.1 a\n5.1.1 b' })).toBe('550 5.1.1 a 5.1.1 b')
    expect(formatReply({ code: 250, enhancedStatus: null, text: '' })).toBe('250')
  })
})

describe('bytes that are not a reply', () => {
  it.each([['HTTP/1.1 400 Bad Request\r\n'], ['25\r\n'], ['2500 four digits\r\n'], ['OK\r\n'], ['x'.repeat(5_000_000)]])('%.30j', (bytes) =>
    expect(read(bytes).at(-1)).toHaveProperty('fault'),
  )

  const endless = { fault: 'the reply does not end', isEndless: true }

  it('have a limit', () => {
    const reader = new ReplyReader()
    for (let i = 0; i < 4; i++) {
      expect(reader.take()).toBeNull()
      reader.push(Buffer.alloc(1 << 20, `250-${'x'.repeat(1018)}\r\n`))
    }
    expect(reader.take()).toBeNull()
    reader.push(Buffer.from('250-one more\r\n'))
    expect(reader.take()).toEqual(endless)
  })

  it.each(['250-x\r\n', '\r\n'])('have a limit of lines, because short ones cost the most: %j', (line) => {
    const reader = new ReplyReader()
    reader.push(Buffer.from(line.repeat(10_000)))
    expect(reader.take()).toBeNull()
    reader.push(Buffer.from(line.repeat(10_000)))
    expect(reader.take()).toEqual(endless)
  })

  it('count anew after each reply', () => {
    const reader = new ReplyReader()
    for (let i = 0; i < 3; i++) {
      reader.push(Buffer.from(`${'250-x\r\n'.repeat(6_000)}250 end\r\n`))
      expect(reader.take()).toMatchObject({ code: 250 })
    }
  })

  it('leave what follows them to be read', () => {
    const reader = new ReplyReader()
    reader.push(Buffer.from('OK\r\n250 taken\r\n'))
    expect([reader.take(), reader.take()]).toMatchObject([{ isEndless: false }, { code: 250 }])
  })

  it('leave no number in the text behind them to be a code', () => {
    const reader = new ReplyReader()
    reader.push(Buffer.from('Too big:\r\n 250 MB\r\n250MB\r\n552 end\r\n 250 taken\r\n'))
    const taken = [reader.take(), reader.take(), reader.take(), reader.take(), reader.take()]
    expect(taken.map((each) => each && ('code' in each ? each.code : null))).toEqual([null, null, null, 552, 250])
  })

  it('are more than nothing, if only an empty line', () => {
    const reader = new ReplyReader()
    reader.push(Buffer.from('220 ready\r\n\r\n'))
    expect([reader.take(), reader.take(), reader.hasMore]).toEqual([expect.objectContaining({ code: 220 }), null, true])
  })

  it('never throws, and returns whole replies or a fault', () => {
    const chunk = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.constantFrom('250 ', '250-', '\r\n', '\n', '550 5.1.1 ', '\0').map((text) => Buffer.from(text)),
    )
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 30 }), (chunks) => {
        for (const reply of read(...chunks.map((bytes) => Buffer.from(bytes))) as object[]) {
          if ('fault' in reply) return
          expect(reply).toMatchObject({ code: expect.toSatisfy((code: number) => code >= 0 && code <= 999) })
        }
      }),
    )
  })

  it('are recognised line by line', () => {
    expect(parseReplyLine('250-more')).toEqual({ code: 250, more: true, isLoose: false, text: 'more' })
    expect(parseReplyLine('+OK')).toBeNull()
  })
})
