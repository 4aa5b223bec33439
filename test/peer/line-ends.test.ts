import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import type { PostfixInstance } from '../../bench/postfix-instance.ts'
import { startPostfixMailbox } from '../support/postfix-mailbox.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { inboundSequences, smuggle, wantedOutcome } from '../support/smuggling-attempt.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/**
 * What becomes of line ends: a Postfix that makes CRLF of a bare LF as we do is the judge, and behind us stands one that takes a bare LF for
 * a line end everywhere, also around the dot that ends a message.
 */
let judge: PostfixInstance
let behind: PostfixInstance
let relay: TestRelay
let judgePort = 0

beforeAll(async () => {
  const port = await freePort()
  judgePort = await freePort()
  behind = await startPostfixMailbox({ host: '127.0.0.3', port }, { smtpd_forbid_bare_newline: 'no' })
  judge = await startPostfixMailbox({ host: '127.0.0.4', port: judgePort }, { smtpd_forbid_bare_newline: 'normalize' })
  relay = await startTestRelay({ delivery_port: String(port), plans: 'enterprise=100000' }, { 'rcpt.example': { a: ['127.0.0.3'] } })
  const { sendingDomains } = relay.relay.services
  const { id } = (await relay.call('GET', '/api/account')).body
  await sendingDomains.verifyManually((await sendingDomains.add(id, 'example.com')).id)
}, 180_000)

afterAll(async () => {
  await relay.stop()
  behind.stop()
  judge.stop()
})

/** The mails in a mailbox for this address. */
function mailsFor(address: string, { directory }: PostfixInstance): string[] {
  const box = join(directory, 'mail/box/new')
  const isThere = readdirSync(join(directory, 'mail')).length > 0
  const mails = isThere ? readdirSync(box).map((name) => readFileSync(join(box, name), 'latin1')) : []
  return mails.filter((mail) => mail.includes(`X-Original-To: ${address}\n`))
}

const bodyOf = (mail = ''): string => mail.slice(mail.indexOf('\n\n') + 2)
const envelope = (address: string) => ({ from: 'me@example.com', to: [address] })

/** Sends a mail by the relay, and waits until it is behind it; what was sent before and would follow is then there too. */
async function marked(address: string): Promise<void> {
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  await client.send('From: me@example.com\r\n\r\nmark', envelope(address))
  client.close()
  await expect.poll(() => mailsFor(address, behind)).toHaveLength(1)
}

test('what we take with bare LFs, the judge takes too, and the same lines come out', async () => {
  const line = fc.constantFrom('', 'a', '..', '..b', 'c.', ' d', 'e: f')
  const end = fc.constantFrom('\n', '\r\n')
  const messages = fc.sample(fc.array(fc.tuple(line, end), { minLength: 1, maxLength: 8 }), { numRuns: 120, seed: 1 })
  const [ours, theirs] = [
    await SmtpClient.logIn(relay.submissionPort, relay.token),
    await SmtpClient.connect(judgePort, { host: '127.0.0.4' }),
  ]
  await theirs.command('EHLO client.example')
  const taken: string[] = []
  for (const [place, lines] of messages.entries()) {
    const address = `lines${place}@rcpt.example`
    const message = `From: me@example.com\nSubject: x\r\n\n${lines.flat().join('')}end`
    const { code } = await ours.send(message, envelope(address))
    // A dot alone on its line, with a bare LF beside it: the judge takes it for content.
    const isLoneDot = /(?<!\r)\n\.\.\r?\n|\n\.\.\n/.test(message)
    expect(code, JSON.stringify(message)).toBe(isLoneDot ? 550 : 250)
    expect((await theirs.send(message, envelope(address))).code).toBe(250)
    if (!isLoneDot) taken.push(address)
  }
  ours.close()
  theirs.close()
  expect(taken.length).toBeGreaterThan(60)
  for (const address of taken) {
    await expect.poll(() => [mailsFor(address, behind).length, mailsFor(address, judge).length]).toEqual([1, 1])
    expect(bodyOf(mailsFor(address, behind)[0])).toBe(bodyOf(mailsFor(address, judge)[0]))
  }
}, 300_000)

test('no smuggled message comes out behind us', async () => {
  let wanted = 0
  for (const sequence of inboundSequences) {
    const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
    const codes = await smuggle(client, { sequence, place: 'body', cut: null, to: 'smuggled@rcpt.example' })
    const outcome = wantedOutcome({ sequence, place: 'body' })
    expect(codes.slice(0, outcome.codes.length), JSON.stringify(sequence)).toEqual(outcome.codes)
    wanted += outcome.taken.length
  }
  await expect.poll(() => mailsFor('smuggled@rcpt.example', behind)).toHaveLength(wanted)
  await marked('mark@rcpt.example')
  expect(mailsFor('smuggled@rcpt.example', behind)).toHaveLength(wanted)
}, 300_000)
