import { simpleParser } from 'mailparser'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFakeMx, type FakeMx, type MxMessage } from '../support/fake-mx.ts'
import { signatureVerdicts } from '../support/signature-verdicts.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

let old: FakeMx
let modern: FakeMx
let relay: TestRelay

beforeAll(async () => {
  old = await startFakeMx({ host: '127.0.0.2', extensions: ['PIPELINING', 'SIZE 36700160'] })
  modern = await startFakeMx({ host: '127.0.0.3', port: old.port })
  relay = await startTestRelay(
    { delivery_port: String(old.port) },
    { 'old.example': { a: ['127.0.0.2'] }, 'modern.example': { a: ['127.0.0.3'] } },
  )
})

afterAll(async () => {
  await relay.stop()
  await Promise.all([old.close(), modern.close()])
})

/** Everybody is somebody new. */
let people = 0
let ann = ''
beforeEach(() => {
  ann = `ann${++people}@old.example`
})

interface Sent {
  code: number
  last: string
  id: string
}

async function send(lines: string[], to = ann): Promise<Sent> {
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  const message = ['From: Shop <app@sender.example>', `To: ${to}`, ...lines].join('\r\n')
  const { code, last } = await client.send(message, { from: 'app@sender.example', to: [to] })
  client.close()
  return { code, last, id: /em_\w+/.exec(last)?.[0] ?? '' }
}

async function arrived(mx: FakeMx, address = ann): Promise<MxMessage & { text: string }> {
  const found = (): MxMessage | undefined => mx.messages.find(({ rcptTo }) => rcptTo[0] === address)
  await expect.poll(found).toBeDefined()
  const message = found() as MxMessage
  return { ...message, text: message.data.toString('latin1') }
}

const bodyOf = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4)
const maxLineLength = (text: string): number => Math.max(...text.split('\r\n').map(({ length }) => length))
// oxlint-disable-next-line no-control-regex
const eightBit = /[^\x00-\x7f]/

const long = `${'A long line of JSON or of minified HTML. '.repeat(60)}end`
const page = `<p>Größe: <a href="https://shop.example/">${'x'.repeat(1200)}</a></p>`
const parts = [
  'Subject: parts',
  'MIME-Version: 1.0',
  'Content-Transfer-Encoding: 8bit',
  'Content-Type: multipart/mixed; boundary=outer',
  '',
  'This is a preamble.',
  '--outer',
  'Content-Type: multipart/alternative;',
  ' boundary="inner part"',
  '',
  '--inner part',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
  '',
  'Grüße, -- Zoë ',
  '',
  '.dot',
  '--not a boundary',
  '--inner part',
  'Content-Type: text/html; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
  '',
  page,
  '--inner part--',
  '',
  '--outer',
  'Content-Type: text/plain; charset=us-ascii; name=seven.txt',
  'Content-Disposition: attachment; filename=seven.txt',
  '',
  'Seven  bits\t',
  '=3D stays',
  '--outer',
  'Content-Type: text/plain; charset=utf-8; name=ru.txt',
  'Content-Disposition: attachment; filename=ru.txt',
  'Content-Transfer-Encoding: 8bit',
  '',
  'Здравствуйте'.repeat(20),
  '--outer',
  'Content-Type: application/json; name=a.json',
  'Content-Disposition: attachment; filename=a.json',
  '',
  JSON.stringify({ long }),
  '--outer',
  'Content-Type: image/png; name=a.png',
  'Content-Disposition: attachment; filename=a.png',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.alloc(3000, 'png').toString('base64'),
  '--outer',
  'Content-Type: message/rfc822',
  'Content-Transfer-Encoding: 8bit',
  '',
  'From: zoe@else.example',
  'Subject: forwarded',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
  '',
  'Für dich',
  '--outer--',
  '',
]

describe('a host without 8BITMIME gets', () => {
  test('every part in an encoding that it can take, equal in content, with signatures that hold', async () => {
    expect((await send(parts)).code).toBe(250)
    const { text, data, mailParams } = await arrived(old)
    expect(mailParams).not.toContain('BODY')
    expect(text).not.toMatch(eightBit)
    expect(maxLineLength(text)).toBeLessThanOrEqual(998)
    expect(text).not.toMatch(/^Content-Transfer-Encoding: 8bit/im)
    expect(await signatureVerdicts(relay, data)).toEqual(['pass', 'pass'])
    const given = await simpleParser(parts.join('\r\n'))
    const got = await simpleParser(data)
    expect([got.text, got.html]).toEqual([given.text, given.html])
    expect(got.attachments.map(({ filename, contentType }) => [filename, contentType])).toEqual(
      given.attachments.map(({ filename, contentType }) => [filename, contentType]),
    )
    expect(got.attachments.slice(0, 4).map(({ content }) => content.toString('latin1'))).toEqual(
      given.attachments.slice(0, 4).map(({ content }) => content.toString('latin1')),
    )
    const forwarded = await simpleParser(got.attachments[4]?.content ?? '')
    expect([forwarded.subject, forwarded.text]).toEqual(['forwarded', 'Für dich'])
    // What can be carried is left as it is.
    expect(text).toContain('\r\n\r\nSeven  bits\t\r\n=3D stays\r\n--outer\r\n')
  })

  test('text without a word of MIME, told to be UTF-8', async () => {
    expect((await send(['Subject: plain', '', 'Grüße an Zoë', '', 'Bye'])).code).toBe(250)
    const { text, data } = await arrived(old)
    expect(text).not.toMatch(eightBit)
    expect(await signatureVerdicts(relay, data)).toEqual(['pass', 'pass'])
    expect((await simpleParser(data)).text).toBe('Grüße an Zoë\n\nBye\n')
  })

  test('tracked HTML', async () => {
    expect(
      (
        await send([
          'Subject: t',
          'X-Tracking: clicks',
          'MIME-Version: 1.0',
          'Content-Type: text/html; charset=utf-8',
          'Content-Transfer-Encoding: 8bit',
          '',
          page,
        ])
      ).code,
    ).toBe(250)
    const { text, data } = await arrived(old)
    expect(text).not.toMatch(eightBit)
    expect(await signatureVerdicts(relay, data)).toEqual(['pass', 'pass'])
    const { html } = await simpleParser(data)
    expect(html).toMatch(/^<p>Größe: <a href="https:\/\/relay\.example\/t[^"]*">x{1200}<\/a><\/p>/)
  })

  test('raw characters in a header field that no encoded word can hold, when nobody asked for SMTPUTF8', async () => {
    expect((await send(['Subject: Größe', 'List-Id: Grüße <news.sender.example>', '', 'Hi'])).code).toBe(250)
    const { text, data, mailParams } = await arrived(old)
    expect(mailParams).not.toContain('SMTPUTF8')
    expect(Buffer.from(text, 'latin1').toString()).toContain('\r\nList-Id: Grüße <news.sender.example>\r\n')
    expect(await signatureVerdicts(relay, data)).toEqual(['pass', 'pass'])
  })
})

describe('every host gets', () => {
  test('lines of at most 998 bytes', async () => {
    const to = Array.from({ length: 60 }, (_, place) => `reader${place}@modern.example`).join(', ')
    expect((await send(['Subject: long', `Cc: ${to}`, '', long, 'short'], 'long@modern.example')).code).toBe(250)
    const { text, data } = await arrived(modern, 'long@modern.example')
    expect(maxLineLength(text)).toBeLessThanOrEqual(998)
    expect(await signatureVerdicts(relay, data)).toEqual(['pass', 'pass'])
    const parsed = await simpleParser(data)
    expect(parsed.text).toBe(`${long}\nshort\n`)
    expect([parsed.cc].flat().flatMap((list) => list?.value ?? [])).toHaveLength(60)
  })

  test('what has no more than seven bits byte for byte', async () => {
    const body = 'a  b \t\r\n=\r\n\r\n--x\r\n '
    expect((await send(['Subject: s', 'Content-Type: text/plain', '', body], 'same@modern.example')).code).toBe(250)
    expect(bodyOf((await arrived(modern, 'same@modern.example')).text)).toBe(`${body}\r\n`)
  })
})

describe('a message that came signed', () => {
  const theirs = 'DKIM-Signature: v=1; a=rsa-sha256; d=own.example; s=x; h=from; bh=; b='
  const sealed = ['MIME-Version: 1.0', 'Content-Type: multipart/signed; boundary=b; protocol="application/pgp-signature"', '']
  const body = [
    '--b',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    '',
    'Grüße',
    '--b',
    'Content-Type: application/pgp-signature',
    '',
    'x',
    '--b--',
    '',
  ]

  test.each([
    ['by DKIM', [theirs, 'Subject: s', '', 'Grüße', '']],
    ['by OpenPGP', ['Subject: s', ...sealed, ...body]],
  ])('%s is left as it is, and bounces where it cannot be taken so', async (how, lines) => {
    const there = `${how.replaceAll(' ', '')}@modern.example`
    expect((await send(lines, there)).code).toBe(250)
    const { text, mailParams } = await arrived(modern, there)
    expect(bodyOf(text)).toBe(Buffer.from(`${lines.slice(lines.indexOf('') + 1).join('\r\n')}\r\n`).toString('latin1'))
    expect(mailParams).toContain('BODY=8BITMIME')
    const { id } = await send(lines)
    await expect
      .poll(async () => (await relay.recipients(id))[ann])
      .toMatchObject({ status: 'bounced', last_response: expect.stringContaining('8BITMIME') })
  })

  test('in one of its parts has the others encoded', async () => {
    const address = 'part@modern.example'
    const wrapped = [
      '--o',
      sealed[1] as string,
      '',
      ...body,
      '--o',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 8bit',
      '',
      'Liste für alle',
      '--o--',
      '',
    ]
    expect(
      (await send(['Subject: s', 'MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=o', '', ...wrapped], address)).code,
    ).toBe(250)
    const text = Buffer.from((await arrived(modern, address)).text, 'latin1').toString()
    expect(text).toContain(body.join('\r\n'))
    expect(text).toContain('Liste f=C3=BCr alle')
  })

  test.each([
    ['by DKIM', [theirs, 'Subject: s', '', long]],
    [
      'by S/MIME',
      ['Subject: s', 'Content-Type: multipart/signed; boundary=b; protocol="application/pkcs7-signature"', '', '--b', '', long, '--b--'],
    ],
  ])('%s is refused where a line of it is longer than hosts take', async (_, lines) => {
    expect(await send(lines)).toMatchObject({ code: 550, last: expect.stringMatching(/^550 5\.6\.3 .*998/) })
    const form = new FormData()
    form.set('to', ann)
    form.set('message', new Blob([['From: app@sender.example', ...lines].join('\r\n')]), 'message.eml')
    const url = `${relay.baseUrl}/compat/mailgun/v3/sender.example/messages.mime`
    const answer = await fetch(url, { method: 'POST', body: form, headers: { authorization: `Basic ${btoa(`api:${relay.token}`)}` } })
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('998')])
  })
})
