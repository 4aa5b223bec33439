import { createHash, generateKeyPairSync } from 'node:crypto'
import dkimSigner from 'dkim-signer'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { describe, expect, test } from 'vitest'
import type { SigningKey } from '../../../src/mail-out/delivery/attempt.ts'
import { SignableMessage } from '../../../src/mail-out/delivery/dkim-header.ts'
import { DkimSigner } from '../../../src/mail-out/delivery/dkim-sign.ts'
import { cases } from '../../support/cases.ts'

const now = Date.UTC(2026, 10, 21, 6, 0, 0)
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ed25519 = generateKeyPairSync('ed25519')
const der = (key: typeof rsa.privateKey): Buffer => key.export({ format: 'der', type: 'pkcs8' })

const rsaKey: SigningKey = { id: 'dk_r', signingDomain: 'sender.example', selector: 'sr', algorithm: 'rsa-sha256' }
const ed25519Key: SigningKey = { id: 'dk_e', signingDomain: 'sender.example', selector: 'se', algorithm: 'ed25519-sha256' }
const signer = new DkimSigner()
signer.addKey('dk_r', der(rsa.privateKey))
signer.addKey('dk_e', der(ed25519.privateKey))

const published: Record<string, string> = {
  'sr._domainkey.sender.example': `v=DKIM1; k=rsa; p=${rsa.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')}`,
  'se._domainkey.sender.example': `v=DKIM1; k=ed25519; p=${ed25519.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')}`,
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

async function verify(message: Uint8Array, at = now): Promise<string[]> {
  const { results } = await dkimVerify(Buffer.from(message), {
    curTime: new Date(at),
    strict: true,
    resolver: async (name: string) => [[published[name] ?? '']],
  })
  return results.map(({ selector, status }) => `${selector} ${status.result}`)
}

const sign = (content: Uint8Array, keys: SigningKey[], fields = ''): Promise<string> =>
  signer.sign(new SignableMessage(content), { fields, keys, now })

async function signed(content: Uint8Array, keys = [rsaKey, ed25519Key]): Promise<Buffer> {
  return Buffer.concat([bytes(await sign(content, keys)), content])
}

const bothPass = ['sr pass', 'se pass']
const header = 'From: a@sender.example\r\nTo: b@shop.test\r\nSubject: hello\r\n'
const withBody = (body: string | Buffer): Buffer => Buffer.concat([bytes(`${header}\r\n`), Buffer.from(body)])

describe('both signatures are good for', () => {
  test.each<[string, Buffer]>([
    ['plain text', withBody('Hello,\r\nworld.\r\n')],
    ['an empty body', withBody('')],
    ['a body of empty lines', withBody('\r\n\r\n\r\n')],
    ['a body of white space', withBody(' \t\r\n \r\n')],
    ['no empty line after the header', bytes(header)],
    ['a header that lacks its last CRLF', bytes(header.slice(0, -2))],
    ['no final CRLF', withBody('Hello')],
    ['white space at the very end', withBody('Hello \t')],
    ['empty lines at the end', withBody('Hello\r\n \r\n\t\r\n\r\n')],
    ['white space at line ends', withBody('Hello  \r\nworld\t\r\nx')],
    ['white space within lines', withBody('a  b\tc \t d\r\n  indented\r\n\ttab\r\n')],
    ['no-break spaces at a line end, in UTF-8', withBody('Hello\u00a0\r\nworld \u2028\u3000\ufeff\r\n')],
    ['bytes that are no UTF-8', withBody(Buffer.from([0xe9, 0x20, 0x20, 0xff, 0xa0, 13, 10, 0x85, 13, 10]))],
    ['form feed and vertical tab', withBody('a\f\f b\v\r\n\f\r\n')],
    ['NUL', withBody('a\0 \0\r\n')],
    ['lines that begin with a dot', withBody('.\r\n..\r\n')],
    ['a long body that must be rewritten', withBody(`${'x '.repeat(40)}\r\n`.repeat(5000))],
    ['folded header fields', bytes('From: a@sender.example\r\nSubject: one\r\n two\r\n\tthree  \r\nTo:\r\n b@shop.test\r\n\r\nx\r\n')],
    [
      'fields without a space, and with one before the colon',
      bytes('from:a@sender.example\r\nTO \t:  b@shop.test  \r\nSubject:\r\n\r\nx\r\n'),
    ],
    ['8-bit header fields', Buffer.from('From: Käthe <a@sender.example>\r\nSubject: \u00a0é\u00a0\r\n\r\nx\r\n')],
    [
      'fields that stand twice',
      bytes('From: a@sender.example\r\nTo: b@shop.test\r\nTo: c@shop.test\r\nSubject: 1\r\nSubject: 2\r\n\r\nx\r\n'),
    ],
    [
      'every field of note',
      bytes(
        `${header}Cc: c@shop.test\r\nSender: a@sender.example\r\nMIME-Version: 1.0\r\nContent-Type: text/plain\r\nList-Id: <l.sender.example>\r\nList-Unsubscribe: <https://x.test>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\nFeedback-ID: 1:2:3\r\nReferences: <1@x>\r\nIn-Reply-To: <1@x>\r\nDate: Sat, 21 Nov 2026 06:00:00 +0000\r\nMessage-ID: <2@x>\r\nReply-To: r@x.test\r\n\r\nx\r\n`,
      ),
    ],
  ])('%s', async (_, content) => {
    expect(await verify(await signed(content))).toEqual(bothPass)
  })

  test('content in shared memory', async () => {
    const source = withBody('Hello  world\r\n')
    const shared = new Uint8Array(new SharedArrayBuffer(source.length + 8), 4, source.length)
    shared.set(source)
    expect(await verify(await signed(shared))).toEqual(bothPass)
  })
})

test('any header and any body', async () => {
  const byte = fc.constantFrom(0x20, 0x20, 0x09, 0x0c, 0x41, 0x3a, 0x2e, 0x00, 0x85, 0xa0, 0xc2, 0xe9)
  const line = fc
    .oneof(fc.array(byte, { maxLength: 12 }), fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 30 }))
    .map((values) => Buffer.from(values.filter((value) => value !== 10 && value !== 13)).toString('latin1'))
  const name = fc.constantFrom('From', 'TO', 'subject', 'Date', 'List-Id', 'Cc', 'Received', 'X-Other', 'Content-Type', 'reply-to')
  const before = fc.constantFrom('', '', ' ', '\t ')
  // A line of a field that is only white space would end the header for some parsers.
  const value = fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.map((text) => `${text}~`).join('\r\n '))
  const field = fc.tuple(name, before, value).map(([label, space, text]) => `${label}${space}:${text}`)
  const body = fc.tuple(fc.array(line, { maxLength: 8 }), fc.constantFrom('', '\r\n', '\r\n\r\n', ' \r\n'))
  await fc.assert(
    fc.asyncProperty(fc.array(field, { maxLength: 8 }), body, async (fields, [lines, end]) => {
      const content = bytes(`From: a@sender.example\r\n${fields.map((text) => `${text}\r\n`).join('')}\r\n${lines.join('\r\n')}${end}`)
      expect(await verify(await signed(content))).toEqual(bothPass)
    }),
    { numRuns: cases(300) },
  )
})

test.each([
  'From: x@bank.test',
  'Subject: changed',
  'To: x@y.test',
  'Reply-To: x@y.test',
  'Content-Type: text/html',
  'List-Unsubscribe: <https://x.test>',
])('a field added afterwards breaks the signature: %s', async (added) => {
  const message = (await signed(withBody('x\r\n'))).toString('latin1')
  expect(await verify(bytes(`${added}\r\n${message}`))).toEqual(['sr fail', 'se fail'])
  expect(await verify(bytes(message.replace('\r\n\r\n', `\r\n${added}\r\n\r\n`)))).toEqual(['sr fail', 'se fail'])
})

test('a changed body breaks the signature, and time does', async () => {
  const message = await signed(withBody('pay 1\r\n'))
  expect(await verify(bytes(message.toString('latin1').replace('pay 1', 'pay 9')))).toEqual(['sr fail', 'se fail'])
  const day = 86_400_000
  expect(await verify(message, now + 7 * day)).toEqual(bothPass)
  expect(await verify(message, now + 7 * day + 1000)).not.toEqual(bothPass)
})

test('the field as it is written', async () => {
  const written = await sign(withBody('x\r\n'), [rsaKey, ed25519Key])
  expect(written).toMatch(/^(DKIM-Signature: v=1; [^]*?\r\n(?![ ])){2}$/)
  for (const line of written.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78)
  const tags = written.split('DKIM-Signature:')[1]?.replace(/\s/g, '').split(';') ?? []
  expect(tags.map((tag) => tag.split('=')[0])).toEqual(['v', 'a', 'c', 'd', 's', 't', 'x', 'h', 'bh', 'b'])
  expect(tags).toContain(
    'h=From:From:To:To:Subject:Subject:Date:Message-ID:Reply-To:Cc:Sender:In-Reply-To:References:MIME-Version:Content-Type:' +
      'Content-Transfer-Encoding:List-Unsubscribe:List-Unsubscribe-Post:List-Id:Feedback-ID',
  )
  expect(tags).toContain(`t=${now / 1000}`)
  expect(await sign(withBody('x'), [])).toBe('')
})

test('fields put before the message are signed with it, and count among those that nobody can add to', async () => {
  const content = bytes(`Feedback-ID: theirs\r\n${header}\r\nx\r\n`)
  const fields =
    'List-Unsubscribe: <https://relay.example/u/1>,\r\n <mailto:u@relay.example>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\nFeedback-ID: ours\r\n'
  const signatures = await sign(content, [rsaKey, ed25519Key], fields)
  const message = `${signatures}${fields}${content.toString('latin1')}`
  expect(signatures.replace(/\s/g, '')).toContain(
    'List-Unsubscribe:List-Unsubscribe:List-Unsubscribe-Post:List-Unsubscribe-Post:List-Id:Feedback-ID:Feedback-ID:Feedback-ID;',
  )
  expect(await verify(bytes(message))).toEqual(bothPass)
  expect(await verify(bytes(`X-Sterna-Ref: r\r\n${message}`))).toEqual(bothPass)
  const forged = [
    message.replace('/u/1', '/u/2'),
    message.replace('One-Click', 'Two'),
    message.replace('ours', 'x'),
    `List-Unsubscribe: <https://evil.example/>\r\n${message}`,
  ]
  for (const each of forged) expect(await verify(bytes(each))).toEqual(['sr fail', 'se fail'])
})

test('long names of domain and selector still verify', async () => {
  const long = { ...rsaKey, signingDomain: `${'a'.repeat(60)}.${'b'.repeat(60)}.example`, selector: 's'.repeat(60) }
  published[`${long.selector}._domainkey.${long.signingDomain}`] = published['sr._domainkey.sender.example'] ?? ''
  expect(await verify(await signed(withBody('x\r\n'), [long]))).toEqual([`${long.selector} pass`])
})

test('for plain text it says of the body what dkim-signer says', async () => {
  const content = withBody('Hello  there \r\n\r\nfriend\r\n\r\n')
  const theirs = dkimSigner.DKIMSign(content.toString(), {
    domainName: 'sender.example',
    keySelector: 'sr',
    privateKey: rsa.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  })
  const bodyHash = (field: string): string | undefined => /bh=([^;]+)/.exec(field)?.[1]?.replace(/\s/g, '')
  expect(bodyHash(await sign(content, [rsaKey]))).toBe(bodyHash(theirs))
  expect(await verify(Buffer.concat([bytes(`${theirs.trim()}\r\n`), await signed(content)]))).toContain('sr pass')
  expect(bodyHash(theirs)).toBe(createHash('sha256').update('Hello there\r\n\r\nfriend\r\n').digest('base64'))
})

test('keys that nobody should trust are refused', () => {
  const add = (key: Uint8Array) => () => new DkimSigner().addKey('dk_x', key)
  expect(add(der(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey))).toThrow(/1024 bits/)
  expect(add(der(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey))).toThrow(/type ec/)
  expect(add(Buffer.from('nonsense'))).toThrow(/PKCS #8/)
})

test('a key that was not handed over is our fault, said by its id', async () => {
  await expect(sign(withBody('x'), [{ ...rsaKey, id: 'dk_unknown' }])).rejects.toThrow(/dk_unknown/)
})
