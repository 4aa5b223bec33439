import { expect, test } from 'vitest'
import { readHeading } from '../../../src/mail-back/feedback/mail-heading.ts'

const headingOf = (header: string) => readHeading(Buffer.from(`${header}\r\n\r\nbody\r\n`), 'relay.example')

test('author and subject are decoded, on one line and short', () => {
  expect(headingOf('From: =?utf-8?q?J=C3=BCrgen?= <j@example.com>\r\nSubject: =?utf-8?b?w7w=?=\r\n =?utf-8?b?w7w=?=')).toMatchObject({
    from: 'Jürgen <j@example.com>',
    subject: 'üü',
  })
  expect(headingOf(`Subject: ${'x'.repeat(900)}`).subject).toHaveLength(200)
  expect(headingOf('To: x')).toMatchObject({ from: '', subject: '' })
})

test.each([
  ['From: postmaster@relay.example', true],
  ['From: Mail <POSTMASTER@Relay.Example>', true],
  ['From: list@example.com\r\nSender: postmaster@relay.example', true],
  ['From: list@example.com\r\nX-Sterna-Forwarded: relay.example', true],
  ['From: a@relay.example.com', false],
  ['From: "postmaster@relay.example" <a@example.com>', false],
  ['From: a@example.com\r\nX-Sterna-Forwarded: other.example', false],
])('%s: our own is %s', (header, isOwn) => {
  expect(headingOf(header).isOwn).toBe(isOwn)
})

test.each([
  ['From: a@example.com', false],
  ['Auto-Submitted: no', false],
  ['Auto-Submitted: auto-generated', true],
  ['auto-submitted: Auto-Replied (vacation)', true],
  ['no header', true],
])('%s: automatic is %s', (header, isAutomatic) => {
  expect(headingOf(header).isAutomatic).toBe(isAutomatic)
})
