import { afterEach, describe, expect, it } from 'vitest'
import { startMessageParser, type MessageParser } from '../../../src/mail/message/message-parser.ts'

let parser: MessageParser
const start = (limits?: Parameters<typeof startMessageParser>[0]): MessageParser => (parser = startMessageParser(limits))
afterEach(() => parser.stop())

const message = (text: string) => [Buffer.from(`From: a@b\r\nSubject: =?utf-8?q?=C3=BC?=\r\n\r\n${text}`)]
const parse = (...pieces: Uint8Array[]) => parser.parse(async () => pieces)

describe('the message parser', () => {
  it('reads the HTML to look at, no longer than is asked for', async () => {
    start()
    const html = (bytes: Uint8Array, limit: number) => parser.html(async () => [bytes], limit)
    const page = Buffer.from('Content-Type: text/html; charset=utf-8\r\n\r\n<p>ü</p>')
    expect(Buffer.concat((await html(page, 100)) ?? []).toString()).toBe('<p>ü</p>')
    await expect(html(page, 8)).rejects.toMatchObject({ code: 'invalid_message' })
    expect(await html(Buffer.from('Subject: none\r\n\r\ntext'), 100)).toBeNull()
    expect(await parser.html(async () => [], 100)).toBeNull()
  })

  it('reads html, text, attachments and headers', async () => {
    const bytes = [
      'Subject: =?utf-8?q?=C3=BC?=',
      'Content-Type: multipart/mixed; boundary=b',
      '',
      '--b',
      'Content-Type: text/plain',
      '',
      'hi',
      '--b',
      'Content-Type: text/html',
      '',
      '<script>x</script>',
      '--b',
      'Content-Type: message/delivery-status',
      '',
      'Action: failed',
      '--b',
      'Content-Type: image/png; name=a.png',
      'Content-ID: <c@d>',
      'Content-Transfer-Encoding: base64',
      '',
      'AAEC',
      '--b--',
      '',
    ].join('\r\n')
    start()
    const read = await parse(Buffer.from(bytes))
    expect(read).toMatchObject({ html: expect.stringContaining('<script>x</script>'), text: expect.stringMatching(/^hi/) })
    expect(read?.attachments).toEqual([
      expect.objectContaining({ contentType: 'message/delivery-status' }),
      { filename: 'a.png', contentType: 'image/png', disposition: 'attachment', size: 3, contentId: 'c@d' },
    ])
    expect(read?.headers[0]).toEqual({ name: 'subject', value: 'ü' })
  })

  it('gives the content of one attachment, however large, and says where there is none', async () => {
    const content = Buffer.from(Array.from({ length: 700_000 }, (_, i) => (i * i) % 251))
    const head = (name: string) => `--b\r\nContent-Type: application/pdf; name=${name}\r\nContent-Transfer-Encoding: base64\r\n\r\n`
    const source = [
      'Content-Type: multipart/mixed; boundary=b',
      '',
      `${head('empty.pdf')}`,
      `${head('big.pdf')}${content.toString('base64')}`,
      '--b--',
      '',
    ]
    const load = async () => [Buffer.from(source.join('\r\n'))]
    start()
    const read = async (place: number) => {
      const pieces = await parser.attachment(load, place)
      return pieces && Buffer.concat(pieces)
    }
    expect(await read(0)).toEqual(Buffer.alloc(0))
    expect((await read(1))?.equals(content)).toBe(true)
    expect(await read(2)).toBe(null)
    expect((await parse(...(await load())))?.attachments.map(({ filename, size }) => [filename, size])).toEqual([
      ['empty.pdf', 0],
      ['big.pdf', 700_000],
    ])
    expect(await parser.attachment(async () => [], 0)).toBe(null)
  })

  it('reads from shared memory', async () => {
    const [source = Buffer.alloc(0)] = message('shared')
    const shared = new Uint8Array(new SharedArrayBuffer(source.length))
    shared.set(source)
    start()
    expect((await parse(shared))?.text).toBe('shared')
  })

  it('reads a message in pieces, loads it when it is its turn, and says where there is none', async () => {
    start()
    const loaded: string[] = []
    const load = (name: string, pieces: Uint8Array[]) => async () => {
      loaded.push(name)
      return pieces
    }
    const results = [
      parser.parse(load('first', [Buffer.from('Subject: a\r\n\r'), Buffer.from('\nfi'), Buffer.from('rst')])),
      parser.parse(load('none', [])),
      parser.parse(async () => Promise.reject(new Error('the store is closed'))),
      parser.parse(load('last', message('last'))),
    ]
    expect(loaded).toEqual(['first'])
    expect(await Promise.allSettled(results)).toMatchObject([
      { value: { text: 'first' } },
      { value: null },
      { reason: { message: 'the store is closed' } },
      { value: { text: 'last' } },
    ])
    expect(loaded).toEqual(['first', 'none', 'last'])
  })

  it('rejects what waits when it stops, and what comes later', async () => {
    start()
    const waiting = Promise.allSettled([parse(...message('a')), parse(...message('b'))])
    await parser.stop()
    for (const result of await waiting) expect(result).toMatchObject({ status: 'rejected', reason: { code: 'service_unavailable' } })
    await expect(parse(...message('c'))).rejects.toMatchObject({ code: 'service_unavailable' })
  })
})
