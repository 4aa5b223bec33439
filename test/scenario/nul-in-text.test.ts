import { afterAll, beforeAll, expect, test } from 'vitest'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/** PostgreSQL stores no NUL in text. */
let mx: FakeMx
let relay: TestRelay

beforeAll(async () => {
  mx = await startFakeMx({
    host: '127.0.4.9',
    on: { rcpt: (address) => (address.startsWith('gone') ? '550 5.1.1 No\0such user' : undefined) },
  })
  const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] as [number, string][] }, 'mx.rcpt.example': { a: ['127.0.4.9'] } }
  relay = await startTestRelay({ delivery_port: String(mx.port) }, zone)
})

afterAll(async () => {
  await relay.stop()
  await mx.close()
})

test('a reply with NUL decides like any other', async () => {
  const id = await relay.send('gone@rcpt.example')
  await expect
    .poll(async () => (await relay.recipients(id))['gone@rcpt.example'])
    .toMatchObject({ status: 'bounced', smtp_code: 550, last_response: expect.stringMatching(/^550 5\.1\.1 No.such user$/s) })
})

test.each<[what: string, method: string, path: string, body?: unknown]>([
  ['a name', 'POST', '/api/templates', { name: 'Wel\0come', subject: 'Hello', html: '<p>He\0llo</p>' }],
  ['a reason', 'POST', '/api/suppressions', { email: 'ann@rcpt.example', reason: 'a\0b' }],
  ['words of an email', 'POST', '/api/emails', { from: 'app@sender.example', to: 'ann@rcpt.example', subject: 'H\0i', text: 'He\0llo' }],
  [
    'a tag',
    'POST',
    '/api/emails',
    { from: 'app@sender.example', to: 'ann@rcpt.example', subject: 'Hi', text: 'Hi', tags: { kind: 'a\0b' } },
  ],
  ['a filter', 'GET', '/api/emails?subject=a%00b'],
  ['an id', 'GET', '/api/emails/a%00b'],
])('%s with NUL is no fault of ours', async (_, method, path, body) => {
  expect((await relay.call(method, path, body)).status).toBeLessThan(500)
})
