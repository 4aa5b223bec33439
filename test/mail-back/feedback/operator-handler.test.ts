import { simpleParser } from 'mailparser'
import { expect, test } from 'vitest'
import type { ReturnedMail } from '../../../src/mail-back/feedback/returned-mail-store.ts'
import { operatorHandler } from '../../../src/mail-back/feedback/operator-handler.ts'
import { newId } from '../../../src/platform/id.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { composeParts } from '../../../src/mail/message/compose-parts.ts'
import { UniqueError } from '../../../src/platform/store/database.ts'
import type { SystemMail } from '../../../src/mail-in/submission/system-mail.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

async function handlerFor(operatorEmail: string | null, hostname = 'relay.example') {
  const clock = settableClock()
  const sent: (SystemMail & { id: string })[] = []
  const systemMail = {
    send: async (mail: SystemMail, _: unknown, id = ''): Promise<never> => {
      if (sent.some((each) => each.id === id)) throw new UniqueError('there already')
      sent.push({ ...mail, id })
      return undefined as never
    },
  }
  const handler = operatorHandler({ db: await testDatabase(), clock, log: silentLog, systemMail }, { hostname, operatorEmail })
  const mailWith = (fields: Partial<ReturnedMail> = {}): ReturnedMail => ({
    id: newId('rep', clock.now()),
    receivedAt: clock.now(),
    purpose: 'postmaster',
    recipientId: null,
    reversePath: 'ann@example.com',
    forwardPath: 'postmaster@relay.example',
    remoteAddress: '192.0.2.1',
    size: 100,
    retries: 0,
    requireTls: false,
    ...fields,
  })
  return { handler, mailWith, sent, clock }
}

const person = Buffer.from('From: Ann <ann@example.com>\r\nSubject: =?utf-8?b?w7w=?= help\r\n\r\nI have a question.\r\n')

test('the operator gets the original mail, attached to a message of ours', async () => {
  const { handler, mailWith, sent } = await handlerFor('me@example.com')
  const first = mailWith()
  expect(await handler(first, person)).toMatchObject({ result: 'forwarded', summary: { from: 'Ann <ann@example.com>', subject: 'ü help' } })
  const [mail] = sent
  expect(mail).toMatchObject({
    to: 'me@example.com',
    subject: 'Mail to postmaster@relay.example: ü help',
    id: first.id.replace('rep_', 'em_'),
  })
  expect(mail?.headers).toEqual({ 'X-Sterna-Forwarded': 'relay.example' })
  const parsed = await simpleParser(composeParts('Subject: x', mail?.multipart ?? '', mail?.parts ?? []))
  expect(parsed.text).toMatch(
    /From, as the mail says: Ann <ann@example\.com>\nEnvelope sender: <ann@example\.com>\nReceived from: 192\.0\.2\.1/,
  )
  expect(parsed.attachments.map(({ contentType }) => contentType)).toEqual(['message/rfc822'])
  expect(parsed.attachments[0]?.content.toString()).toBe(person.toString())
})

test('mail that came with REQUIRETLS goes on with it alone', async () => {
  const { handler, mailWith, sent } = await handlerFor('me@example.com')
  for (const requireTls of [true, false]) await handler(mailWith({ requireTls }), person)
  expect(sent.map(({ transfer }) => transfer)).toEqual([{ requireTls: true }, undefined])
})

test('mail with lines that are too long for SMTP is attached as a file', async () => {
  const { handler, mailWith, sent } = await handlerFor('me@example.com')
  const long = Buffer.from(`From: ann@example.com\r\n\r\n${'ä'.repeat(2_000)}\r\n`)
  await handler(mailWith(), long)
  const parsed = await simpleParser(composeParts('Subject: x', 'mixed', sent[0]?.parts ?? []))
  expect(sent[0]?.parts[1]?.contentType).toBe('application/octet-stream')
  expect(parsed.attachments[0]?.content.equals(long)).toBe(true)
})

test.each(['\nbare', 'bare\rbare', '\0'])('mail with %j in it is attached as a file, and known again', async (bytes) => {
  const { handler, mailWith, sent } = await handlerFor('me@example.com')
  const damaged = Buffer.from(`From: ann@example.com\nSubject: hi\r\n\r\n${bytes}\r\n`)
  expect(await handler(mailWith(), damaged)).toMatchObject({ result: 'forwarded', summary: { from: 'ann@example.com', subject: 'hi' } })
  const parsed = await simpleParser(composeParts('Subject: x', 'mixed', sent[0]?.parts ?? []))
  expect(sent[0]?.parts[1]?.contentType).toBe('application/octet-stream')
  expect(parsed.attachments[0]?.content.equals(damaged)).toBe(true)
  const again = Buffer.from(`From: fwd@example.com\nX-Sterna-Forwarded: relay.example\n\n${bytes}`)
  expect((await handler(mailWith(), again)).result).toBe('not_forwarded')
})

test('a message is forwarded once, even if it is handled twice', async () => {
  const { handler, mailWith, sent } = await handlerFor('me@example.com')
  const same = mailWith()
  for (let i = 0; i < 3; i++) expect((await handler(same, person)).result).toBe('forwarded')
  expect(sent).toHaveLength(1)
})

test('without an operator address the mail is stored, and the result says so', async () => {
  const { handler, mailWith, sent } = await handlerFor(null)
  expect(await handler(mailWith(), person)).toMatchObject({ result: 'stored', summary: { subject: 'ü help' } })
  expect(sent).toEqual([])
})

test('our own mail is never forwarded', async () => {
  const { handler, mailWith, sent } = await handlerFor('me@example.com')
  for (const header of ['From: postmaster@relay.example', 'From: fwd@example.com\r\nX-Sterna-Forwarded: relay.example']) {
    expect((await handler(mailWith(), Buffer.from(`${header}\r\n\r\n`))).result).toBe('not_forwarded')
  }
  expect(sent).toEqual([])
})

test('per hour, forwards twenty automatic messages and a hundred in all', async () => {
  const { handler, mailWith, sent, clock } = await handlerFor('me@example.com')
  const results = async (count: number, make: () => [ReturnedMail, Buffer]): Promise<string[]> => {
    const found = []
    for (let i = 0; i < count; i++) found.push((await handler(...make())).result)
    return found
  }
  const automatic = Buffer.from('From: x@example.com\r\nAuto-Submitted: auto-replied\r\n\r\n')
  let networks = 0
  const from = (fields: Partial<ReturnedMail> = {}): ReturnedMail => mailWith({ remoteAddress: `192.0.2.${networks++}`, ...fields })
  const first = await results(15, () => [from(), automatic])
  const second = await results(10, () => [from({ reversePath: null }), person])
  expect([...first, ...second].map((result) => result === 'forwarded')).toEqual([...Array(20).fill(true), ...Array(5).fill(false)])
  expect((await results(90, () => [from(), person])).filter((result) => result === 'forwarded')).toHaveLength(80)
  expect(sent).toHaveLength(100)
  clock.advance(3_600_000)
  expect((await handler(mailWith(), automatic)).result).toBe('forwarded')
})

test('lines may be as long as servers must accept, and no longer', async () => {
  const { handler, mailWith, sent } = await handlerFor('me@example.com')
  for (const length of [998, 999])
    await handler(mailWith(), Buffer.from(`From: ann@example.com\r\n\r\nshort\r\n${'x'.repeat(length)}\r\nshort`))
  expect(sent.map(({ parts }) => parts[1]?.contentType)).toEqual(['message/rfc822', 'application/octet-stream'])
})

test("one network cannot crowd out the rest of the operator's mail", async () => {
  const { handler, mailWith, sent } = await handlerFor('me@example.com')
  for (let i = 0; i < 100; i++) await handler(mailWith({ remoteAddress: '2001:db8::1' }), person)
  expect(sent).toHaveLength(20)
  expect((await handler(mailWith({ remoteAddress: '192.0.2.9' }), person)).result).toBe('forwarded')
})

test("two servers that name each other's postmaster as operator do not loop", async () => {
  const one = await handlerFor('postmaster@two.example')
  await one.handler(one.mailWith(), person)
  const asMail = ({ headers }: SystemMail): string =>
    Object.entries(headers ?? {})
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')
  const two = await handlerFor('postmaster@relay.example', 'two.example')
  await two.handler(two.mailWith(), Buffer.from(`From: postmaster@relay.example\r\n${asMail(one.sent[0]!)}\r\n`))
  expect(two.sent[0]?.headers).toEqual({ 'X-Sterna-Forwarded': 'relay.example, two.example' })
  await one.handler(one.mailWith(), Buffer.from(`From: postmaster@two.example\r\n${asMail(two.sent[0]!)}\r\n`))
  expect(one.sent).toHaveLength(1)
  expect(
    (
      await one.handler(
        one.mailWith(),
        Buffer.from('From: a@b.example\r\nX-Sterna-Forwarded: a.example, b.example, c.example, d.example\r\n\r\n'),
      )
    ).result,
  ).toBe('not_forwarded')
})
