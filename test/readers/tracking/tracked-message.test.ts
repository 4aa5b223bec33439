import { simpleParser } from 'mailparser'
import { expect, test } from 'vitest'
import { decodeTransfer, encodeTransfer, type TransferEncoding } from '../../../src/mail/message/transfer-encoding.ts'
import { newId } from '../../../src/platform/id.ts'
import { openTarget } from '../../../src/readers/tracking/sealed-target.ts'
import { TrackedMessage } from '../../../src/readers/tracking/tracked-message.ts'
import { markOf, readRecipientToken, trackingKeys } from '../../../src/readers/tracking/tracking-token.ts'
import { htmlMail } from '../../support/html-mails.ts'

const keys = trackingKeys((purpose) => Buffer.alloc(32, purpose))
const plan = {
  opens: true,
  clicks: true,
  hiddenLink: false,
  base: 'https://mail.example/t',
  trackingHost: '',
  ownUrls: ['https://mail.example/u/'],
  keys,
}
const id = newId('em', 0)
const place = { messageTag: markOf(id, keys).tag, trackingHost: '' }
const [ann, bob] = [newId('rcp', 0), newId('rcp', 0)]

const mailOf = (html: Buffer, encoding: TransferEncoding, charset = 'utf-8'): Buffer =>
  Buffer.concat([
    Buffer.from(
      'From: a@b.example\r\nSubject: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=xx\r\n\r\n--xx\r\nContent-Type: text/plain\r\n\r\n' +
        `https://shop.example/  \r\n--xx\r\nContent-Type: text/html; charset=${charset}\r\nContent-Transfer-Encoding: ${encoding}\r\nX-Own: stays\r\n\r\n`,
    ),
    encodeTransfer(html, encoding).bytes,
    Buffer.from('\r\n--xx\r\nContent-Type: image/gif\r\nContent-Transfer-Encoding: base64\r\n\r\nR0lG\r\n--xx--\r\n'),
  ])

/** The HTML as it arrives, without what was put in at the end. */
async function htmlFor(recipient: string, mail: Buffer, wanted = plan): Promise<string> {
  const tracked = TrackedMessage.of(id, mail, wanted)
  if (!tracked) throw new Error('nothing is tracked')
  return htmlIn(Buffer.from(tracked.contentFor(recipient)))
}
function htmlIn(mail: Buffer): string {
  const start = mail.indexOf('X-Own: stays\r\n')
  const encoding = /Content-Transfer-Encoding: (\S+)/.exec(
    mail.toString('latin1', mail.lastIndexOf('text/html', start)),
  )?.[1] as TransferEncoding
  const body = mail.subarray(mail.indexOf('\r\n\r\n', start) + 4, mail.indexOf('\r\n--xx\r\nContent-Type: image/gif'))
  return decodeTransfer(body, encoding).toString('latin1')
}

const tracking = /https:\/\/mail\.example\/t\/([och])\/([0-9a-z]{48})(?:\/([\w-]+))?/g

test.each(['7bit', '8bit', 'base64', 'quoted-printable'] as const)('in %s only the values change', async (encoding) => {
  for (let seed = 1; seed <= 60; seed++) {
    const given = Buffer.from(htmlMail(seed).replace(/\r?\n/g, '\r\n'))
    const mail = mailOf(given, encoding)
    const tracked = TrackedMessage.of(id, mail, plan)
    const arrived = Buffer.from(tracked?.contentFor(ann) ?? mail)
    expect(arrived.subarray(0, 200)).toEqual(mail.subarray(0, 200))
    expect(arrived.subarray(-80)).toEqual(mail.subarray(-80))
    const html = htmlIn(arrived)
    const found = [...html.matchAll(tracking)]
    const targets = found.map(([, kind, token = '', sealed = '']) => {
      expect(readRecipientToken(token, keys)?.recipientId).toBe(ann)
      return kind === 'c' ? openTarget(sealed, place, keys)?.url : kind
    })
    expect(targets).not.toContain(undefined)
    // Another recipient's differs by the tokens alone.
    const other = Buffer.from(tracked?.contentFor(bob) ?? mail)
    expect(htmlIn(other).replaceAll(tracking, (_, kind, token, sealed) => `${kind} ${token.length} ${sealed}`)).toBe(
      html.replaceAll(tracking, (_, kind, token, sealed) => `${kind} ${token.length} ${sealed}`),
    )
  }
})

test.each([
  ['utf-16le', Buffer.from('<a href="https://shop.example/é">x</a>', 'utf16le')],
  ['iso-8859-1', Buffer.from('<a href="https://shop.example/é">x</a>', 'latin1')],
])('also in the charset %s', async (charset, html) => {
  const arrived = await htmlFor(ann, mailOf(html, 'base64', charset))
  const text = charset === 'utf-16le' ? Buffer.from(arrived, 'latin1').toString('utf16le') : arrived
  const [, , , sealed = ''] = [...text.matchAll(tracking)][0] ?? []
  expect(openTarget(sealed, place, keys)?.url).toBe('https://shop.example/é')
  expect(text).toMatch(/^<a href="https:[^"]+">x<\/a><img [^>]+>$/)
})

test('a line that gets too long becomes quoted-printable', async () => {
  const html = `<p>${'x'.repeat(900)}<a href="https://a.example">a</a></p>`
  const arrived = Buffer.from(TrackedMessage.of(id, mailOf(Buffer.from(html), '7bit'), plan)?.contentFor(ann) ?? '')
  expect(arrived.toString()).toContain('X-Own: stays\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n')
  expect((await simpleParser(arrived)).html).toMatch(/x{900}<a href="https:\/\/mail\.example\/t\/c\//)
})

test.each<[what: string, html: string, expected: RegExp]>([
  ['at the end of the body', '<html><body><p>x</p></body></html>', /<p>x<\/p><img [^>]+><\/body><\/html>$/],
  ['at the end where nothing is closed', '<p>x', /^<p>x<img [^>]+>$/],
  ['nowhere in what a comment swallows', '<p>x<!-- <b>', /^<p>x<!-- <b>$/],
  [
    'at the beginning where the end is cut off by mail programs',
    `<body class=a>${'<p>x</p>'.repeat(20_000)}</body>`,
    /^<body class=a><img [^>]+><p>/,
  ],
])('the picture stands %s', async (_, html, expected) => {
  const mail = mailOf(Buffer.from(html), 'base64')
  const arrived = TrackedMessage.of(id, mail, plan)?.contentFor(ann)
  expect(htmlIn(Buffer.from(arrived ?? mail))).toMatch(expected)
})

test('unsubscribe links and marked links stay; the hidden link is added on request', async () => {
  const html =
    '<a href="https://mail.example/u/abc">u</a><a href="https://x.example/stop?a=1">s</a><a data-sterna-track=off href="https://x.example/">o</a><a href="https://y.example">y</a>'
  const mail = Buffer.concat([
    Buffer.from('List-Unsubscribe: <mailto:a@b.example>,\r\n <https://x.example/stop?a=1>\r\n'),
    mailOf(Buffer.from(html), '7bit'),
  ])
  const arrived = await htmlFor(ann, mail, { ...plan, opens: false, hiddenLink: true })
  expect([...arrived.matchAll(tracking)].map(([, kind]) => kind)).toEqual(['c', 'h'])
  expect(arrived).toContain('aria-hidden="true" tabindex="-1" style="display:none"')
  expect(arrived.startsWith(html.slice(0, html.indexOf('https://y.example')))).toBe(true)
})

test('a message with nothing to track stays unchanged', () => {
  expect(TrackedMessage.of(id, Buffer.from('Subject: x\r\n\r\nhttps://a.example'), plan)).toBeNull()
  expect(TrackedMessage.of(id, mailOf(Buffer.from('<p>no link</p>'), '7bit'), { ...plan, opens: false })).toBeNull()
  expect(TrackedMessage.of(id, mailOf(Buffer.from('<p>x</p>'), '7bit', 'utf-7'), plan)).toBeNull()
})

test.each<[what: string, mail: Buffer]>([
  ['ASCII that is said to be UTF-16', mailOf(Buffer.from('<p>hi</p><a href="https://a.example">x</a>'), '7bit', 'utf-16')],
  [
    'base64 that goes on behind its padding',
    Buffer.from(
      mailOf(Buffer.from('<p>EUR 100</p>'), 'base64')
        .toString('latin1')
        .replace('PHA+RVVSIDEwMDwvcD4=', 'PHA+RVVSPC9wPg==\r\nPHA+MTAwPC9wPg=='),
      'latin1',
    ),
  ],
  [
    'a part without a body',
    Buffer.from('Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n--b--\r\n'),
  ],
  ['a message signed on its way', Buffer.concat([Buffer.from('ARC-Message-Signature: i=1\r\n'), mailOf(Buffer.from('<p>x</p>'), '7bit')])],
])('%s stays unchanged', (_, mail) => {
  expect(TrackedMessage.of(id, mail, plan)).toBeNull()
})

test.each<[what: string, mail: Buffer]>([
  ['blanks without end', mailOf(Buffer.from('x'), '7bit')],
  ['beginnings of links to unsubscribe', mailOf(Buffer.from('<p>x</p>'), '7bit')],
])('%s are read quickly', (what, mail) => {
  const text = mail.toString('latin1')
  const hostile = what.startsWith('blanks')
    ? text.replace('Encoding: 7bit', 'Encoding: quoted-printable').replace('\r\n\r\nx\r\n', `\r\n\r\n<p>${' '.repeat(1_000_000)}x\r\n`)
    : `List-Unsubscribe: ${'<'.repeat(200_000)}\r\n${text}`
  expect(TrackedMessage.of(id, Buffer.from(hostile, 'latin1'), plan)?.contentFor(ann).length).toBeGreaterThan(200_000)
})
