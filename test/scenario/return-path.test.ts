import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { simpleParser } from 'mailparser'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { composeDsn, returnMail } from '../support/returned-mail.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

let mx: FakeMx
let relay: TestRelay

beforeAll(async () => {
  mx = await startFakeMx({ host: '127.0.0.4' })
  relay = await startTestRelay(
    { delivery_port: String(mx.port), operator_email: 'me@operator.example', return_path_messages_per_minute: '0' },
    { 'rcpt.example': { a: ['127.0.0.4'] }, 'operator.example': { a: ['127.0.0.4'] }, 'forged.example': { a: ['127.0.0.4'] } },
  )
})

afterAll(async () => {
  await relay.stop()
  await mx.close()
})

async function greet(): Promise<SmtpClient> {
  const client = await SmtpClient.connect(relay.returnPathPort)
  await client.command('EHLO mx.example')
  return client
}

const question = 'From: Ann <ann@forged.example>\r\nSubject: A question\r\n\r\nWhy do you write to me?'
const mailTo = (address: string) => mx.messages.filter(({ rcptTo }) => rcptTo.includes(address))
const waiting = () => relay.relay.services.db.read("select id from returned_mail where state = 'received'")

test('the reverse-path of a message takes what comes back of it, before and after a restart, and no other address does', async () => {
  const id = await relay.send('ann@rcpt.example')
  await expect.poll(() => mailTo('ann@rcpt.example').length).toBe(1)
  const { mailFrom } = mailTo('ann@rcpt.example')[0]!
  expect(mailFrom).toMatch(/^b[0-9a-z]{46}@relay\.example$/)
  for (let round = 0; round < 2; round++) {
    const client = await greet()
    const changed = mailFrom.replace(/.@/, (end) => (end === 'x@' ? 'y@' : 'x@'))
    for (const to of [changed, 'app@sender.example', 'b@send.sender.example']) {
      expect((await client.send(question, { from: '', to: [to] })).code, to).toBe(550)
      await client.command('RSET')
    }
    // Domains that have a return path of their own take it there too.
    const to = round === 0 ? mailFrom.toUpperCase() : mailFrom.replace('relay.example', 'send.sender.example')
    expect((await client.send(question, { from: '', to: [to] })).code).toBe(250)
    client.close()
    await expect.poll(waiting).toEqual([])
    const rows = await relay.relay.services.db.read("select message_id, result from returned_mail where purpose = 'bounce' order by id")
    // It is no report of a bounce, so nothing comes of it.
    expect(rows.at(-1)).toEqual({ message_id: id, result: 'no_report' })
    expect(rows).toHaveLength(round + 1)
    if (round === 0) await relay.restart()
  }
  expect((await relay.recipients(id))['ann@rcpt.example']?.status).toBe('delivered')
})

/** A report that returns this whole message in base64, as some hosts do. */
function reportWith(original: Buffer, recipient: string): string {
  const [beginning = '', end = ''] = composeDsn({ recipient, original: '' }).split('Content-Type: text/rfc822-headers\r\n\r\n')
  const base64 = original.toString('base64').replace(/.{76}/g, '$&\r\n')
  return `${beginning}Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64}\r\n${end.trimStart()}`
}

test('a report is understood, however large the message that it returns, and whatever its line ends', async () => {
  const attachments = [{ filename: 'a.bin', content: Buffer.alloc(1_150_000, 'report').toString('base64') }]
  for (const [name, change] of [
    ['large', (report: string) => report],
    ['lf', (report: string) => report.replaceAll('\r\n', '\n').concat('\0\r')],
    ['cr', (report: string) => report.replaceAll('\r\n', '\r\r\n')],
  ] as const) {
    const to = `${name}@rcpt.example`
    const id = await relay.send(to, { attachments })
    await expect.poll(() => mailTo(to).length).toBe(1)
    const { mailFrom, data } = mailTo(to)[0]!
    expect(data.length).toBeGreaterThan(1_500_000)
    const report = change(reportWith(data, to))
    expect(report.length).toBeGreaterThan(2 * 1024 * 1024)
    expect((await returnMail(relay.returnPathPort, mailFrom, [report])).map(({ code }) => code)).toEqual([250])
    await expect.poll(waiting).toEqual([])
    expect((await relay.recipients(id))[to]?.status, name).toBe('bounced')
    expect(await relay.relay.services.db.read('select address, reason from suppression where address = :to', { to })).toHaveLength(1)
  }
})

test('what people and desks answer to a bounce address changes no state, whatever words they use', async () => {
  const [to, directory] = ['ann@rcpt.example', join(import.meta.dirname, '../fixtures/people')]
  const before = mailTo(to).length
  const id = await relay.send(to)
  await expect.poll(() => mailTo(to).length).toBe(before + 1)
  const texts = readdirSync(directory).flatMap((file) =>
    readFileSync(join(directory, file), 'utf8')
      .split(/^=== .*\n/m)
      .slice(1),
  )
  const replies = await returnMail(
    relay.returnPathPort,
    mailTo(to).at(-1)!.mailFrom,
    texts.map((text) => text.replaceAll('\n', '\r\n')),
  )
  expect(replies.map(({ code }) => code)).toEqual(texts.map(() => 250))
  await expect.poll(waiting).toEqual([])
  const results = await relay.relay.services.db.read<{ result: string }>('select result from returned_mail where message_id = :id', {
    id,
  })
  expect(results).toHaveLength(texts.length)
  expect(results.filter(({ result }) => result === 'bounced' || result === 'complained' || result === 'unsubscribed')).toEqual([])
  expect((await relay.recipients(id))[to]?.status).toBe('delivered')
})

test('the operator gets the mail for postmaster as it came, within mail of ours, and never in circles', async () => {
  const client = await greet()
  expect((await client.send(question, { from: 'ann@forged.example', to: ['Postmaster@relay.example'] })).code).toBe(250)
  await expect.poll(() => mailTo('me@operator.example').length).toBe(1)
  const [forwarded] = mailTo('me@operator.example')
  expect(forwarded?.mailFrom).toBe('')
  const parsed = await simpleParser(forwarded!.data)
  expect(parsed.from?.value[0]?.address).toBe('postmaster@relay.example')
  expect(parsed.headers.get('auto-submitted')).toBe('auto-generated')
  expect(parsed.subject).toBe('Mail to Postmaster@relay.example: A question')
  expect(parsed.attachments[0]?.content.toString()).toMatch(/^Received: from mx\.example .*\r\n\r\nWhy do you write to me\?\r\n$/s)
  // What a mailbox that sends everything on to us would do.
  expect((await client.send(forwarded!.data, { from: '', to: ['abuse@send.sender.example'] })).code).toBe(250)
  await expect.poll(waiting).toEqual([])
  expect(mailTo('me@operator.example')).toHaveLength(1)
  const rows = await relay.relay.services.db.read(
    "select purpose, result from returned_mail where purpose in ('postmaster', 'abuse') order by id",
  )
  expect(rows).toEqual([
    { purpose: 'postmaster', result: 'forwarded' },
    { purpose: 'abuse', result: 'not_forwarded' },
  ])
})

test('mail for postmaster and abuse is taken at the names of the server and of verified domains, and at no other', async () => {
  const { sendingDomains, accounts } = relay.relay.services
  const { id } = await sendingDomains.add(accounts.getAccount('test').id, 'somebody-elses.example')
  const codes = async (domain: string): Promise<number[]> => {
    const client = await greet()
    const taken = []
    for (const name of ['postmaster', 'abuse']) {
      await client.command('MAIL FROM:<>')
      taken.push((await client.command(`RCPT TO:<${name}@${domain}>`)).code)
      await client.command('RSET')
    }
    client.close()
    return taken
  }
  const [domain] = sendingDomains.find(id)
  expect(await codes(`send.${domain?.name}`)).toEqual([550, 550])
  for (const own of ['relay.example', 'send.sender.example']) expect([own, await codes(own)]).toEqual([own, [250, 250]])
  await sendingDomains.verifyManually(id)
  expect(await codes('send.somebody-elses.example')).toEqual([250, 250])
  await sendingDomains.remove(id)
  expect(await codes('send.somebody-elses.example')).toEqual([550, 550])
})

test('nobody gets mail because a stranger forged his name', async () => {
  const before = mx.messages.length
  const client = await greet()
  const bounces = ['fbl', 'dmarc-reports', 'tls-reports'].map((name) => `${name}@relay.example`)
  for (let i = 0; i < 300; i++) {
    const to = i % 2 === 0 ? `guess${i}@relay.example` : bounces[i % 3]!
    const reply = await client.send(
      `Return-Receipt-To: victim@forged.example\r\nDisposition-Notification-To: victim@forged.example\r\n${question}`,
      {
        from: 'victim@forged.example',
        to: [to],
      },
    )
    expect(reply.code, to).toBe(i % 2 === 0 ? 550 : 250)
    if (i % 2 === 0) await client.command('RSET')
  }
  await expect.poll(waiting).toEqual([])
  expect(mx.messages.length).toBe(before)
})
