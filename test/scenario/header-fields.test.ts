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

/** The same message at each way in for raw ones: the code over SMTP and the statuses over HTTP, with what they say. */
async function submitEverywhere(fields: string[]): Promise<(string | number)[]> {
  const smtp = await submit(relay, [from, ...fields, `To: ${ann}`])
  const raw = [from, ...fields, '', 'Hi', ''].join('\r\n')
  const form = new FormData()
  form.set('to', ann)
  form.set('message', new Blob([raw]), 'message.eml')
  const mailgun = await fetch(`${relay.baseUrl}/compat/mailgun/v3/sender.example/messages.mime`, {
    method: 'POST',
    body: form,
    headers: { authorization: `Basic ${btoa(`api:${relay.token}`)}` },
  })
  const postal = await fetch(`${relay.baseUrl}/compat/postal/api/v1/send/raw`, {
    method: 'POST',
    body: JSON.stringify({ mail_from: 'app@sender.example', rcpt_to: [ann], data: Buffer.from(raw).toString('base64') }),
    headers: { 'content-type': 'application/json', 'x-server-api-key': relay.token },
  })
  return [smtp.code, smtp.last, mailgun.status, await mailgun.text(), JSON.parse(await postal.text()).status]
}

const taken = [250, expect.stringContaining('queued'), 200, expect.anything(), 'success']
const refusedFor = (domain: string) => [
  550,
  expect.stringContaining(`5.7.1 The domain ${domain}`),
  403,
  expect.stringContaining(domain),
  expect.stringMatching(/error/),
]

test.each([
  [['Sender: list@sender.example'], taken],
  [['Sender: ceo@bank.example'], refusedFor('bank.example')],
  [['Resent-From: Desk <desk@sender.example>', 'Resent-To: ann@rcpt.example'], taken],
  [['Resent-From: The CEO <ceo@bank.example>'], refusedFor('bank.example')],
  [['Resent-From: desk@sender.example, ceo@bank.example', 'Resent-Sender: desk@sender.example'], refusedFor('bank.example')],
  [['Resent-From: desk@sender.example', 'resent-sender: ceo@bank.example'], refusedFor('bank.example')],
  // Each resending adds its fields above those of the one before (RFC 5322 3.6.6).
  [['Resent-From: desk@sender.example', 'Resent-From: ceo@bank.example'], refusedFor('bank.example')],
])('%s: whoever sends or resends must be at a verified domain too, at every door', async (fields, answers) => {
  expect(await submitEverywhere(fields)).toEqual(answers)
})

test.each(['Sender', 'Resent-From', 'Resent-Sender'])('no email has a %s of its own', async (name) => {
  const email = { from: 'app@sender.example', to: ann, subject: 's', text: 'Hi', headers: { [name]: 'ceo@bank.example' } }
  expect((await relay.call('POST', '/api/send', email)).status).toBe(422)
})
