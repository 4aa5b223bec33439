import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeData, isCleanContent } from '../../../src/mail-out/delivery/data-encoding.ts'
import { smugglingSequences } from '../../support/smuggling-sequences.ts'

const wire = (content: Uint8Array, header = ''): string => Buffer.concat([...encodeData(header, content)].flat()).toString('latin1')
const shared = (text: string): Uint8Array => {
  const bytes = new Uint8Array(new SharedArrayBuffer(text.length))
  bytes.set(Buffer.from(text, 'latin1'))
  return bytes
}

describe('message data on the wire (RFC 5321 4.5.2)', () => {
  it.each([
    ['a\r\n', 'a\r\n.\r\n'],
    ['.\r\n', '..\r\n.\r\n'],
    ['a\r\n.\r\nb\r\n', 'a\r\n..\r\nb\r\n.\r\n'],
    ['a\r\n..\r\n', 'a\r\n...\r\n.\r\n'],
    ['\r\n.\r\n.\r\n', '\r\n..\r\n..\r\n.\r\n'],
    ['a. b.\r\n', 'a. b.\r\n.\r\n'],
    ['no line end', 'no line end\r\n.\r\n'],
    ['.', '..\r\n.\r\n'],
    ['', '.\r\n'],
  ])('%j', (content, expected) => expect(wire(shared(content))).toBe(expected))

  it('has the header fields first', () => expect(wire(shared('.a\r\n'), 'DKIM-Signature: x\r\n')).toBe('DKIM-Signature: x\r\n..a\r\n.\r\n'))

  it('comes in blocks of a bounded size', () => {
    const blocks = [...encodeData('', shared('x'.repeat(1022).concat('\r\n').repeat(2000)))]
    expect(blocks.length).toBeGreaterThan(7)
    for (const block of blocks) expect(block.reduce((sum, part) => sum + part.length, 0)).toBeLessThan(513 * 1024)
  })

  it('of a few parts each where every line begins with a dot', () => {
    const content = shared('.\r\n'.repeat(500_000))
    const parts = [...encodeData('', content)].flat()
    expect(parts.length).toBeLessThan(10)
    expect(Buffer.concat(parts).toString('latin1')).toBe(`${'..\r\n'.repeat(500_000)}.\r\n`)
  })

  it('doubles a dot wherever a line end lies across the border of two blocks', () => {
    for (let at = 256 * 1024 - 4; at < 256 * 1024 + 4; at++) {
      const text = `${'x'.repeat(at)}\r\n.y\r\n`
      expect(wire(shared(text)), `at ${at}`).toBe(`${'x'.repeat(at)}\r\n..y\r\n.\r\n`)
    }
  })

  it('is read back as it was, and ends at its end only', () => {
    const line = fc.array(fc.constantFrom('.', '..', 'a', ' ', 'é'), { maxLength: 5 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 20 }), (lines) => {
        const content = lines.map((text) => `${text}\r\n`).join('')
        const encoded = wire(shared(content))
        expect(isCleanContent(shared(content))).toBe(true)
        expect(`\r\n${encoded}`.indexOf('\r\n.\r\n')).toBe(encoded.length - 3)
        expect(encoded.slice(0, -3).replace(/(^|\r\n)\./g, '$1')).toBe(content)
      }),
    )
  })
})

describe('content that could end early for somebody', () => {
  it.each(smugglingSequences)('%j is not clean', (sequence) =>
    expect(isCleanContent(shared(`a${sequence}MAIL FROM:<x@y>\r\n`))).toBe(false),
  )

  it('is found at every place around the border of what is looked at together', () => {
    const size = 1024 * 1024
    for (let at = size - 4; at < size + 4; at++) {
      for (const [text, isClean] of [
        ['\r\n', true],
        ['\r', false],
        ['\n', false],
        ['\r\r\n', false],
        ['\0', false],
      ] as const) {
        const content = new Uint8Array(size + 64).fill(97)
        content.set(Buffer.from(text), at)
        expect(isCleanContent(content), `${JSON.stringify(text)} at ${at}`).toBe(isClean)
      }
    }
  })

  it('true line ends only are clean', () => {
    expect(isCleanContent(shared('a\r\n\r\n.b\r\n'))).toBe(true)
    expect(isCleanContent(shared(''))).toBe(true)
    expect(isCleanContent(shared('ends in cr\r'))).toBe(false)
  })
})
