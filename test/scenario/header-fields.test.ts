import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { signatureVerdicts } from '../support/signature-verdicts.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

let mx: FakeMx
let relay: TestRelay
const zone = { 'rcpt.example': { a: ['127.0.0.2'] } }

beforeAll(async () => {
  mx = await startFakeMx({ host: '127.0.0.2' })
  relay = await startTestRelay({ delivery_port: String(mx.port) }, zone)
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

async function arrived(): Promise<{ data: Buffer; header: string; field(name: string): string | undefined }> {
  const found = () => mx.messages.find(({ rcptTo }) => rcptTo[0] === ann)
  await expect.poll(found).toBeDefined()
  const data = found()?.data ?? Buffer.alloc(0)
  const header = `\r\n${data.toString('latin1').split('\r\n\r\n')[0]}`
  return { data, header, field: (name) => new RegExp(`\\r\\n${name}: (.*(?:\\r\\n[ \\t].*)*)`, 'i').exec(header)?.[1] }
}

async function submit(at: TestRelay, lines: string[], ehlo = 'laptop.home.example') {
  const client = await SmtpClient.logIn(at.submissionPort, at.token)
  onTestFinished(() => client.close())
  await client.command(`EHLO ${ehlo}`)
  return client.send([...lines, '', 'Hi'].join('\r\n'), { from: 'app@sender.example', to: [ann] })
}

const from = 'From: app@sender.example'

test.each([
  ['Content-Transfer-Encoding: base64'],
  ['MIME-Version: 2.0'],
  ['Sender: evil@evil.example'],
  ['Cc: victim@evil.example'],
  ['In-Reply-To: <x@evil.example>'],
  ['References: <x@evil.example>'],
  ['Feedback-ID: a:b:c:evil'],
])('nobody can add %s to what was signed', async (field) => {
  // It came without the fields that can be missing.
  await submit(relay, [from, `To: ${ann}`, 'Subject: s'])
  const { data } = await arrived()
  expect(await signatureVerdicts(relay, data)).toEqual(['pass', 'pass'])
  expect(await signatureVerdicts(relay, Buffer.concat([Buffer.from(`${field}\r\n`), data]))).toEqual(['fail', 'fail'])
})

test('API mail has its Message-ID under the domain of From, as mail over SMTP', async () => {
  const id = await relay.send(ann)
  expect((await arrived()).field('Message-ID')).toMatch(/^<[0-9a-f]{32}@sender\.example>$/)
  expect((await relay.call('GET', `/api/emails/${id}`)).body.message_id).toMatch(/@sender\.example>$/)
})

test('Feedback-ID names no account in clear, has no empty part, and ends with the name of who sends', async () => {
  await relay.send(ann, { tags: [{ name: 'kind', value: 'news' }] })
  const accountId = (await relay.call('GET', '/api/account')).body.id
  const tagged = (await arrived()).field('Feedback-ID') ?? ''
  expect(tagged).toMatch(/^news:sender\.example:[0-9a-f]{16}:relayexample$/)
  ann = `b${ann}`
  await relay.send(ann, { tags: [{ name: 'kind', value: '-' }] })
  const { field, header } = await arrived()
  expect(field('Feedback-ID')).toBe(tagged.slice('news:'.length))
  expect(header).not.toContain(accountId.slice(4))
})

test('Received tells nothing of who submitted with a key, unless a setting says so', async () => {
  expect((await submit(relay, [from, `To: ${ann}`])).code).toBe(250)
  const { header, field } = await arrived()
  expect(field('Received')).toMatch(/^by relay\.example with ESMTPSA id em_\w{26};\r\n .* \+0000$/)
  expect(header).not.toMatch(/laptop|127\.0\.0\.1/)

  const open = await startTestRelay({ delivery_port: String(mx.port), submission_trace_clients: 'true' }, zone)
  onTestFinished(() => open.stop())
  ann = `b${ann}`
  expect((await submit(open, [from, `To: ${ann}`])).code).toBe(250)
  expect((await arrived()).field('Received')).toMatch(
    /^from laptop\.home\.example \(\[127\.0\.0\.1\]\)\r\n by relay\.example with ESMTPSA id/,
  )
})

test.each(['EHLO foo bar', 'EHLO', 'EHLO ', 'HELO foo bar', 'HELO'])('%s is taken', async (command) => {
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  onTestFinished(() => client.close())
  expect((await client.command(command)).code).toBe(250)
  expect((await client.send(`${from}\r\n\r\nHi`, { from: 'app@sender.example', to: [ann] })).code).toBe(250)
})

test('Sender must be at a verified domain too, at every door', async () => {
  for (const [sender, code] of [
    ['list@sender.example', 250],
    ['ceo@bank.example', 550],
  ] as const) {
    const reply = await submit(relay, [from, `Sender: ${sender}`, `To: ${ann}`])
    expect(reply).toMatchObject({ code, last: expect.stringContaining(code === 250 ? 'queued' : '5.7.1 The domain bank.example') })
    const form = new FormData()
    form.set('to', ann)
    form.set('message', new Blob([`${from}\r\nSender: ${sender}\r\n\r\nHi\r\n`]), 'message.eml')
    const url = `${relay.baseUrl}/compat/mailgun/v3/sender.example/messages.mime`
    const answer = await fetch(url, { method: 'POST', body: form, headers: { authorization: `Basic ${btoa(`api:${relay.token}`)}` } })
    expect([answer.status, await answer.text()]).toEqual(
      code === 250 ? [200, expect.anything()] : [403, expect.stringContaining('bank.example')],
    )
  }
  const email = { from: 'app@sender.example', to: ann, subject: 's', text: 'Hi', headers: { Sender: 'ceo@bank.example' } }
  expect((await relay.call('POST', '/api/send', email)).status).toBe(422)
})
