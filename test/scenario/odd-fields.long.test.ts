import addressparser from 'nodemailer/lib/addressparser/index.js'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { signatureVerdicts } from '../support/signature-verdicts.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

let mx: FakeMx
let relay: TestRelay

beforeAll(async () => {
  mx = await startFakeMx({ host: '127.0.0.2' })
  relay = await startTestRelay({ delivery_port: String(mx.port), plans: 'enterprise=100000' }, { 'rcpt.example': { a: ['127.0.0.2'] } })
})

afterAll(async () => {
  await relay.stop()
  await mx.close()
})

/** Everybody is somebody new. */
let people = 0
let ann = ''
beforeEach(() => {
  ann = `ann${++people}@rcpt.example`
})

/** What the recipient's host got, and its fields, unfolded. */
async function arrived(): Promise<{ data: Buffer; lines: string[]; field(name: string): string | undefined }> {
  const found = () => mx.messages.find(({ rcptTo }) => rcptTo[0] === ann)
  await expect.poll(found).toBeDefined()
  const data = found()?.data ?? Buffer.alloc(0)
  const header = `\r\n${data.toString('latin1').split('\r\n\r\n')[0]}`
  const field = (name: string) => new RegExp(`\\r\\n${name}: (.*)`, 'i').exec(header.replace(/\r\n(?=[ \t])/g, ''))?.[1]
  return { data, lines: data.toString('latin1').split('\r\n'), field }
}

type Outcome = { taken: true } | { taken: false; code: number; text: string }

/** Hands in a whole message, with the recipient in the envelope alone. */
type RawDoor = (message: string) => Promise<Outcome>

const bySmtp: RawDoor = async (message) => {
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  onTestFinished(() => client.close())
  const { code, last } = await client.send(Buffer.from(message, 'latin1'), { from: 'app@sender.example', to: [ann] })
  return code === 250 ? { taken: true } : { taken: false, code, text: last }
}

async function post(path: string, body: FormData | object, headers: Record<string, string>): Promise<Outcome> {
  const isForm = body instanceof FormData
  const type: Record<string, string> = isForm ? {} : { 'content-type': 'application/json' }
  const init = { method: 'POST', headers: { ...type, ...headers }, body: isForm ? body : JSON.stringify(body) }
  const response = await fetch(relay.baseUrl + path, init)
  const text = await response.text()
  // Postal answers 200 to what it refuses.
  const isTaken = response.ok && !/"status": ?"(?:parameter-)?error"/.test(text)
  return isTaken ? { taken: true } : { taken: false, code: response.status, text }
}

const basic = (): Record<string, string> => ({ authorization: `Basic ${btoa(`api:${relay.token}`)}` })
function formOf(fields: Record<string, string | Blob>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}

const byMailgunMime: RawDoor = (message) =>
  post('/compat/mailgun/v3/sender.example/messages.mime', formOf({ to: ann, message: new Blob([Buffer.from(message, 'latin1')]) }), basic())
const byPostalRaw: RawDoor = (message) =>
  post(
    '/compat/postal/api/v1/send/raw',
    { rcpt_to: [ann], mail_from: 'app@sender.example', data: Buffer.from(message, 'latin1').toString('base64') },
    { 'x-server-api-key': relay.token },
  )

/** Sends a small email with these mailboxes. */
type FieldDoor = (fields: { from?: string; replyTo?: string }) => Promise<Outcome>

const app = 'app@sender.example'
const native: FieldDoor = ({ from = app, replyTo }) =>
  post(
    '/api/emails',
    { from, to: ann, subject: 's', text: 'Hi', ...(replyTo ? { reply_to: replyTo } : {}) },
    { authorization: `Bearer ${relay.token}` },
  )
const postmark: FieldDoor = ({ from = app, replyTo }) =>
  post(
    '/compat/postmark/email',
    { From: from, To: ann, Subject: 's', TextBody: 'Hi', ...(replyTo ? { ReplyTo: replyTo } : {}) },
    { 'x-postmark-server-token': relay.token },
  )
const mailgun: FieldDoor = ({ from = app, replyTo }) =>
  post(
    '/compat/mailgun/v3/sender.example/messages',
    formOf({ from, to: ann, subject: 's', text: 'Hi', ...(replyTo ? { 'h:Reply-To': replyTo } : {}) }),
    basic(),
  )
const postal: FieldDoor = ({ from = app, replyTo }) =>
  post(
    '/compat/postal/api/v1/send/message',
    { from, to: [ann], subject: 's', plain_body: 'Hi', ...(replyTo ? { reply_to: replyTo } : {}) },
    { 'x-server-api-key': relay.token },
  )
const inHeader =
  (door: RawDoor): FieldDoor =>
  ({ from = app, replyTo }) =>
    door(`From: ${from}\r\nTo: ${ann}\r\n${replyTo ? `Reply-To: ${replyTo}\r\n` : ''}Subject: s\r\n\r\nHi\r\n`)

const rawDoors: [string, RawDoor][] = [
  ['SMTP', bySmtp],
  ["Mailgun's MIME", byMailgunMime],
  ["Postal's raw", byPostalRaw],
]
const doors: [string, FieldDoor][] = [
  ['the API', native],
  ['Postmark', postmark],
  ['Mailgun', mailgun],
  ['Postal', postal],
  ...rawDoors.map(([name, door]): [string, FieldDoor] => [name, inHeader(door)]),
]

/** A mailbox that needs no reader's goodwill (RFC 5322 3.4), with comments of plain words behind it. */
const legal =
  /^(?:(?:"(?:[^"\\]|\\.)*"|[\w!#$%&'*+/=?^`{|}~. -]+) <[\w.+-]+@sender\.example>|[\w.+-]+@sender\.example(?: \([\w ]*\))?|[\w ]+ <[\w.+-]+@sender\.example> \([\w ]*\))$/

describe.each(doors)('by %s', (_, door) => {
  test.each([
    ['foo @ beep <foo@sender.example>', 'foo @ beep'],
    ['[Shop] Orders <orders@sender.example>', '[Shop] Orders'],
    ['Shop [Berlin] <orders@sender.example>', 'Shop [Berlin]'],
    ['root@sender.example (Cron Daemon)', 'Cron Daemon'],
    ['Ann Lee <ann@sender.example> (work)', 'Ann Lee'],
    ['(x) root@sender.example', 'x'],
    ['root@sender.example (a (b), "c" <d)', null],
    ['ann@sender.example <ann@sender.example>', 'ann@sender.example'],
    ['Alert: Disk > 90 % <disk@sender.example>', 'Alert: Disk > 90 %'],
    ['ACME\\shop <shop@sender.example>', 'ACME\\shop'],
    ['Ann < ann@sender.example >', 'Ann'],
  ])('%s is taken as From and Reply-To, and leaves as RFC 5322 demands', async (text, name) => {
    const isRefused = name === null
    for (const fields of [{ from: text }, { replyTo: text }]) {
      ann = `ann${++people}@rcpt.example`
      const outcome = await door(fields)
      if (isRefused && 'from' in fields) {
        expect(outcome).toMatchObject({ taken: false, text: expect.stringMatching(/comment/) })
        continue
      }
      if (isRefused) continue
      expect(outcome).toEqual({ taken: true })
      const { data, field } = await arrived()
      const value = field('from' in fields ? 'From' : 'Reply-To') ?? ''
      if (!value.startsWith('(x)')) expect(value).toMatch(legal)
      expect(addressparser(value)).toEqual([
        { name: name?.includes('@s') ? '' : name, address: expect.stringMatching(/^\w+@sender\.example$/) },
      ])
      expect(await signatureVerdicts(relay, data)).toEqual(['pass', 'pass'])
    }
  })

  test.each([
    'app@sender.example <ceo@bank.example>',
    'ceo@bank.example <app@sender.example>',
    'ceo @ bank.example <app@sender.example>',
    '<app@sender.example> <ceo@bank.example>',
    '<ceo@bank.example> <app@sender.example>',
    'app@sender.example (x) <ceo@bank.example>',
    'ceo@bank.example(x) <app@sender.example>',
    'app@sender.example (ceo@bank.example)',
    'app@sender.example (<ceo@bank.example>)',
    'app@sender.example(x)bank.example',
    'ceo@bank.example, app@sender.example',
    'ceo@bank.example; app@sender.example',
    'Us: app@sender.example;',
    'Us: ceo@bank.example <app@sender.example>',
    '"app@sender.example" <ceo@bank.example>',
    '"ceo@bank.example <app@sender.example>',
    'Ann (<app@sender.example>',
    'Lee, Ann <app@sender.example>',
    '"ceo"@bank.example <app@sender.example>',
  ])('%s is refused as From, with words that say more than no', async (from) => {
    const outcome = await door({ from })
    expect(outcome).toMatchObject({
      taken: false,
      text: expect.stringMatching(/quotation mark|comma|comment|verif|exactly one|Sender|Close it|domain in the path|only one/),
    })
  })
})

/** A relay that cuts each line at 990 octets, its CRLF with it, as older Postfix does. */
const cutAt990 = (data: Buffer): Buffer =>
  Buffer.from(
    data
      .toString('latin1')
      .split('\r\n')
      .map((line) => line.match(/.{1,987}/gs)?.join('\r\n ') ?? '')
      .join('\r\n'),
    'latin1',
  )
/** A relay that unfolds each field and folds it at white space, within 990 octets. */
function refoldedAt990(data: Buffer): Buffer {
  const [header = '', ...body] = data.toString('latin1').split('\r\n\r\n')
  const unfolded = header.replace(/\r\n(?=[ \t])/g, '').replace(/(.{1,900})(?=[ \t])/g, '$1\r\n')
  return Buffer.from([unfolded, ...body].join('\r\n\r\n'), 'latin1')
}

const many = Array.from({ length: 120 }, (_, place) => `person.number.${place}@rcpt.example`)
const from = 'From: hello@sender.example'

test.each([
  ['MAIL FROM: app@sender.example', (to: string) => `RCPT TO: ${to}`],
  ['MAIL FROM:app@sender.example SIZE= BODY=BINARY', (to: string) => `RCPT TO:${to} ORCPT=rfc822;a+b@c.example`],
  [
    'mail from:<app@sender.example>ENVID=X400-MTS-Identifier:+20[/PRMD+3dFirst+20Org/C+3dGB/;DC01-98] RET=NONE',
    (to: string) => `rcpt to :<${to}> NOTIFY=NEVER,FAILURE ORCPT=${to}`,
  ],
])('a device that writes %s gets its mail delivered', async (mail, rcpt) => {
  const client = await SmtpClient.connect(relay.submissionPort)
  onTestFinished(() => client.close())
  await client.command('EHLO [192.0.2.1]')
  await client.command('STARTTLS')
  await client.startTls()
  await client.command('EHLO [192.0.2.1]')
  for (const line of ['AUTH LOGIN', '', btoa(relay.token), mail, rcpt(ann), 'DATA']) {
    expect((await client.command(line)).code, line).toBeLessThan(400)
  }
  client.write('From: root@sender.example (Cron Daemon)\nSubject: Cron\n\nline one\nline two\r\n.\r\n')
  expect((await client.reply()).code).toBe(250)
  const { data, field } = await arrived()
  expect(field('From')).toBe('root@sender.example (Cron Daemon)')
  expect(data.toString()).toMatch(/\r\n\r\nline one\r\nline two\r\n$/)
  expect(await signatureVerdicts(relay, data)).toEqual(['pass', 'pass'])
})

describe.each(rawDoors)('by %s', (_, door) => {
  test.each([
    ['To', many.join(',')],
    ['Cc', many.map((address) => `"Lee, Ann"<${address}>`).join(',')],
    ['References', many.map((address) => `<${address}>`).join('')],
    ['Subject', `Word ${'x'.repeat(1500)} word`],
    ['Subject', 'word '.repeat(600)],
    ['X-Words', 'word '.repeat(600)],
    ['List-Unsubscribe', many.map((address) => `<mailto:${address}>`).join(',')],
  ])('a long %s is folded, and its signatures pass behind relays that fold', async (name, value) => {
    expect(
      await door(`${from}\r\nTo: ${ann}\r\n${name}: ${value}\r\n\r\nHi\r\n`.replace(name === 'To' ? `To: ${ann}\r\n` : '', '')),
    ).toEqual({
      taken: true,
    })
    const { data, lines, field } = await arrived()
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(998)
    if (name !== 'Subject') expect(field(name)?.replaceAll(' ', '')).toBe(value.replaceAll(' ', ''))
    for (const behind of [data, cutAt990(data), refoldedAt990(data)])
      expect(await signatureVerdicts(relay, behind)).toEqual(['pass', 'pass'])
  })

  test('a field with a part that cannot be folded is refused by name', async () => {
    expect(await door(`${from}\r\nX-Token: ${'x'.repeat(998)}\r\n\r\nHi\r\n`)).toMatchObject({
      taken: false,
      text: expect.stringContaining('The X-Token field has a part that does not fit into a line of 998 characters'),
    })
  })

  test('lines of the body that are too long leave encoded', async () => {
    expect(await door(`${from}\r\n\r\n${'x'.repeat(5000)}\r\n`)).toEqual({ taken: true })
    const { data, lines } = await arrived()
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(998)
    expect(await signatureVerdicts(relay, cutAt990(data))).toEqual(['pass', 'pass'])
  })

  test.each([
    ['in some lines', `${from}\r\nSubject: x\r\nMIME-Version: 1.0\r\n\r\nline one\nline two\r\nline three\n\nend\r\n`],
    ['in all lines', `${from}\nSubject: x\nMIME-Version: 1.0\n\nline one\nline two\nline three\n\nend`],
  ])('a message with a bare LF %s leaves with CRLF', async (_where, message) => {
    expect(await door(message)).toEqual({ taken: true })
    const { data } = await arrived()
    expect(data.toString('latin1')).toMatch(/\r\n\r\nline one\r\nline two\r\nline three\r\n\r\nend\r\n/)
    expect(data.toString('latin1')).not.toMatch(/\r(?!\n)|(?<!\r)\n/)
    expect(await signatureVerdicts(relay, data)).toEqual(['pass', 'pass'])
  })

  test('a bare CR is refused', async () => {
    expect(await door(`${from}\r\n\r\none\rtwo\r\n`)).toMatchObject({ taken: false, text: expect.stringContaining('a CR (byte 13)') })
  })

  test.each([
    ['Date: Fri, 27 Nov 2026 13:00:00', /\r\nDate: Fri, 27 Nov 2026 13:00:00\r\n/],
    ['To: undisclosed-recipients:;', /\r\nTo: undisclosed-recipients:;\r\n/],
    ['To:', /^(?![^]*\r\nTo:)/],
    ['To: a@rcpt.example; b@rcpt.example', /\r\nTo: a@rcpt.example, b@rcpt.example\r\n/],
    ['To: a@rcpt.example,', /\r\nTo: a@rcpt.example\r\n/],
    ['To: not an address', /\r\nTo: not an address\r\n/],
    ['Subject:\tGr\xfc\xdfe', /\r\nSubject: =\?UTF-8\?B\?R3LDvMOfZQ==\?=\r\n/],
    ['To: Gr\xfc\xdfe <a@rcpt.example>', /\r\nTo: =\?UTF-8\?B\?R3LDvMOfZQ==\?= <a@rcpt.example>\r\n/],
    ['Subject: one\r\n \t\r\n two', /\r\nSubject: one \t two\r\n/],
  ])('what devices write is taken: %j', async (line, leaving) => {
    expect(await door(`${from}\r\n${line}\r\n\r\nHi\r\n`)).toEqual({ taken: true })
    const { data, field } = await arrived()
    expect(data.toString('latin1')).toMatch(leaving)
    expect(field('Date')).toBeDefined()
    expect(field('Message-ID')).toMatch(/^<\w+@sender\.example>$/)
    expect(await signatureVerdicts(relay, data)).toEqual(['pass', 'pass'])
  })

  test('a From in Latin-1 is refused with what to do', async () => {
    expect(await door('From: J\xfcrgen <j@sender.example>\r\n\r\nHi\r\n')).toMatchObject({
      taken: false,
      text: expect.stringContaining('Write it in UTF-8, or with encoded words'),
    })
  })
})
