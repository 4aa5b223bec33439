import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLog } from '../../src/platform/log.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { composeDsn, returnMail } from '../support/returned-mail.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const host = '127.0.8.1'
const lines: string[] = []
let mx: FakeMx
let relay: TestRelay

beforeAll(async () => {
  mx = await startFakeMx({
    host,
    on: {
      rcpt(address) {
        if (address.startsWith('gone')) return `550 5.1.1 <${address}> is unknown here`
        return address.startsWith('later') ? `451 4.7.1 <${address}> later` : undefined
      },
    },
  })
  relay = await startTestRelay(
    { delivery_port: String(mx.port) },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } },
    { log: createLog('info', (line) => lines.push(line)) },
  )
})

afterAll(async () => {
  await relay.stop()
  await mx.close()
})

/** The lines of the log about an email. */
const linesOf = (messageId: string): any[] => lines.map((line) => JSON.parse(line)).filter((line) => line.messageId === messageId)

const common = {
  level: 'info',
  recipientId: expect.stringMatching(/^rcp_/),
  destination: 'rcpt.example',
  host: 'mx.rcpt.example',
  attempts: 1,
  delayMs: expect.any(Number),
}

test.each([
  ['ann', { message: 'mail was delivered', code: 250 }],
  ['gone', { message: 'mail bounced', code: 550, enhancedStatus: '5.1.1', category: 'invalid_recipient' }],
  ['later', { message: 'mail was deferred', code: 451, enhancedStatus: '4.7.1', nextAttemptAt: expect.stringMatching(/^\d{4}-.*Z$/) }],
])('the end of an attempt is one line at info: %s', async (name, wanted) => {
  const id = await relay.send(`${name}@rcpt.example`)
  await expect.poll(() => linesOf(id)).toEqual([expect.objectContaining({ ...common, ...wanted, messageId: id })])
})

test('so are time that is over, and a bounce that comes back', async () => {
  const late = await relay.send('later2@rcpt.example', { expires_in: 60 })
  await expect.poll(() => linesOf(late)).toHaveLength(1)
  relay.clock.advance(120_000)
  await expect
    .poll(() => linesOf(late).at(-1))
    .toMatchObject({ message: 'mail was given up: not delivered in time', host: null, code: 451 })

  const delivered = await relay.send('bob@rcpt.example')
  await expect.poll(() => linesOf(delivered)).toHaveLength(1)
  const returnPath = mx.messages.find(({ rcptTo }) => rcptTo[0] === 'bob@rcpt.example')?.mailFrom ?? ''
  await returnMail(relay.returnPathPort, returnPath, [composeDsn({ recipient: 'bob@rcpt.example' })])
  await expect.poll(() => linesOf(delivered).at(-1)).toMatchObject({ message: 'returned mail was settled', result: 'bounced' })
})

test('so is mail that is suppressed when it is accepted, by itself or in a batch', async () => {
  await relay.call('POST', '/api/suppressions', { email: 'listed@rcpt.example' })
  const wanted = { message: 'mail was not sent: the address is suppressed', level: 'info', destination: 'rcpt.example', attempts: 0 }
  const single = await relay.send(['listed@rcpt.example', 'carl@rcpt.example'])
  await expect.poll(() => linesOf(single).map(({ message }) => message)).toEqual([wanted.message, 'mail was delivered'])
  expect(linesOf(single)[0]).toMatchObject(wanted)
  const mail = { from: 'app@sender.example', to: 'listed@rcpt.example', subject: 'Hi', text: 'Hi' }
  const { body } = await relay.call('POST', '/api/emails/batch', [mail, { ...mail, to: 'dora@rcpt.example' }])
  expect(linesOf(body.data[0].id)).toEqual([expect.objectContaining(wanted)])
})

test('no line has an address, nor what a server said of one', () => {
  expect(lines.length).toBeGreaterThan(4)
  expect(lines.filter((line) => /ann|gone|later\d?@|bob|listed|unknown here/.test(line))).toEqual([])
})
