import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseMailbox } from '../../src/platform/smtp/mailbox.ts'
import { refusedAddresses, takenAddresses } from '../support/address-cases.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

let mx: FakeMx
let relay: TestRelay

beforeAll(async () => {
  mx = await startFakeMx()
  relay = await startTestRelay({ delivery_smarthost: `127.0.0.1:${mx.port}`, plans: 'enterprise=10000000' })
})

afterAll(async () => {
  await relay.stop()
  await mx.close()
})

/** What a door makes of a text as recipient: the id of the email, or the refusal. */
type Door = (text: string) => Promise<{ id: string } | { refused: number; field?: string | undefined }>

const email = { from: 'app@sender.example', subject: 'Hello', text: 'Hello' }
const idOf = (response: Response, error: (body: any) => string | undefined): ReturnType<Door> =>
  response.text().then((text) => {
    const id = response.headers.get('x-message-id')
    return response.ok && id ? { id } : { refused: response.status, field: error(JSON.parse(text)) }
  })
const post = (path: string, body: unknown, headers: Record<string, string> = { authorization: `Bearer ${relay.token}` }) =>
  fetch(relay.baseUrl + path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })

const native: Door = async (to) => {
  const { status, body } = await relay.call('POST', '/api/emails', { ...email, to })
  return status === 200 ? { id: body.id } : { refused: status, field: body.errors?.[0]?.field }
}
const batch: Door = async (to) => {
  const { body } = await relay.call('POST', '/api/emails/batch', [{ ...email, to: [{ email: to }] }], {
    'x-batch-validation': 'permissive',
  })
  const [error] = body.errors ?? []
  return error ? { refused: 422, field: 'to' } : { id: body.data[0].id }
}
const sendGrid: Door = async (to) => {
  const content = [{ type: 'text/plain', value: 'Hello' }]
  const body = { from: { email: email.from }, subject: 'Hello', content, personalizations: [{ to: [{ email: to }] }] }
  return idOf(await post('/compat/sendgrid/v3/mail/send', body), ({ errors }) => errors[0].field)
}
const postmark: Door = async (to) => {
  const body = { From: email.from, To: to, Subject: 'Hello', TextBody: 'Hello' }
  return idOf(await post('/compat/postmark/email', body, { 'x-postmark-server-token': relay.token }), () => undefined)
}
const mailgun: Door = async (to) => {
  const form = new FormData()
  for (const [name, value] of Object.entries({ ...email, to })) form.append(name, value)
  const headers = { authorization: `Basic ${btoa(`api:${relay.token}`)}` }
  return idOf(
    await fetch(`${relay.baseUrl}/compat/mailgun/v3/sender.example/messages`, { method: 'POST', headers, body: form }),
    () => undefined,
  )
}

const doors: [string, Door][] = [
  ['the API', native],
  ['a batch', batch],
  ['SendGrid', sendGrid],
  ['Postmark', postmark],
  ['Mailgun', mailgun],
]

/** The recipients on record, once the host has got them all. */
async function deliveredTo(id: string): Promise<string[]> {
  const { body } = await relay.call('GET', `/api/emails/${id}`)
  const recipients = body.recipients.map(({ email: address }: { email: string }) => address) as string[]
  const received = () =>
    mx.messages.filter(({ mailFrom, rcptTo }) => mailFrom !== '' && rcptTo.some((address) => recipients.includes(address))).length
  await expect.poll(received).toBeGreaterThan(0)
  return recipients
}

/** Lone surrogates cannot be sent as UTF-8 at all. */
const isText = (text: string): boolean => text.isWellFormed()

test.each(doors)('by %s an odd address that is one goes to the host as it was read', async (_, door) => {
  for (const [text, address] of takenAddresses) {
    mx.messages.length = 0
    const taken = await door(text)
    if (!('id' in taken)) throw new Error(`${text} was refused: ${JSON.stringify(taken)}`)
    expect(await deliveredTo(taken.id), text).toEqual([address])
    expect(
      mx.messages.flatMap(({ rcptTo }) => rcptTo),
      text,
    ).toEqual([address])
  }
})

test.each(doors)('by %s what could be read in two ways is refused, or goes where we read it', async (name, door) => {
  const usesJson = name !== 'Mailgun'
  mx.messages.length = 0
  const expected: string[] = []
  for (const [text] of refusedAddresses.filter(([text]) => usesJson || isText(text))) {
    const outcome = await door(text)
    const read = parseMailbox(text)
    if ('id' in outcome) {
      const recipients = await deliveredTo(outcome.id)
      // With a name, or in brackets, or a list where the other service has lists: what it says is what it means.
      if (recipients.length === 1 && read.ok) expect(recipients[0], text).toBe(read.mailbox.address)
      expected.push(...recipients)
    } else {
      expect([400, 422], JSON.stringify([text, outcome])).toContain(outcome.refused)
      if (outcome.field !== undefined) expect(outcome.field, text).toMatch(/(^|\.)to(\.|$)/)
    }
  }
  const received = () => mx.messages.flatMap(({ rcptTo }) => rcptTo).toSorted()
  await expect.poll(received).toEqual(expected.toSorted())
  expect(received().filter((address) => /bank\.example|evil\.example/.test(address))).toEqual([])
  console.log(`${name}: of ${refusedAddresses.length} texts ${expected.length} were taken: ${expected.join(' ')}`)
})

const logIn = (): Promise<SmtpClient> => SmtpClient.logIn(relay.submissionPort, relay.token)

async function begin(client: SmtpClient): Promise<void> {
  await client.command('RSET')
  expect((await client.command('MAIL FROM:<app@sender.example> SMTPUTF8')).last).toMatch(/^250/)
}

test('by SMTP an odd address that is one goes to the host as it was read', async () => {
  mx.messages.length = 0
  const client = await logIn()
  for (const [text, address] of takenAddresses) {
    await begin(client)
    expect((await client.command(`RCPT TO:<${text}>`)).last, text).toMatch(/^250/)
    await client.command('DATA')
    client.write('From: app@sender.example\r\nSubject: Hello\r\n\r\nHello\r\n.\r\n')
    const id = /queued as (em_\w+)/.exec((await client.reply()).last)?.[1]
    expect(await deliveredTo(id ?? ''), text).toEqual([address])
  }
  client.close()
  // In any order: a delivery may be slower than the next one.
  expect(mx.messages.flatMap(({ rcptTo }) => rcptTo).toSorted()).toEqual(takenAddresses.map(([, address]) => address).toSorted())
})

test('by SMTP what could be read in two ways is refused', async () => {
  // With a line break it is another command, and over so long a line the server hangs up.
  const texts = refusedAddresses.map(([text]) => text).filter((text) => isText(text) && !/[\r\n]/.test(text) && text.length < 2000)
  // Whoever makes many errors is hung up on.
  for (let start = 0; start < texts.length; start += 5) {
    const client = await logIn()
    for (const text of texts.slice(start, start + 5)) {
      await begin(client)
      expect((await client.command(`RCPT TO:<${text}>`)).last, JSON.stringify(text)).toMatch(/^5\d\d /)
    }
    client.close()
  }
})
