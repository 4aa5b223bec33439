import { expect } from 'vitest'
import type { FakeMx } from './fake-mx.ts'
import { composeDsn, returnMail } from './returned-mail.ts'
import { SmtpClient } from './smtp-client.ts'
import type { TestRelay } from './start-relay.ts'
import { startReceiver, status } from './webhook-receiver.ts'

const hour = 3_600_000
const erin = 'erin@rcpt.example'

/** Somebody gets mail of every kind, is named wherever one can be named, and is forgotten: in the account, then everywhere. */
export async function forgetRecipient(relay: TestRelay, mx: FakeMx, isQuiet: () => Promise<void>): Promise<void> {
  const { services } = relay.relay
  const { db } = services
  const call = async (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<any> => {
    const answer = await relay.call(method, path, body, headers)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const settled = (): Promise<void> => expect.poll(() => db.read("select id from returned_mail where state = 'received'")).toEqual([])
  const receiver = await startReceiver(status(200, {}, `thank you, ${erin}`))
  const { id: webhookId } = await call('POST', '/api/webhooks', { url: receiver.url, payload: 'extended' })
  await call('PATCH', '/api/account', { delivery_notices: true })
  await call('POST', '/api/suppressions', { email: 'frank@rcpt.example', reason: `asked for by ${erin}` })
  const scheduled_at = new Date(relay.clock.now() + 10 * hour).toISOString()

  await relay.send(erin, { tags: [{ name: 'kind', value: 'letter' }], metadata: { to: erin } })
  await isQuiet()
  relay.clock.advance(1_000)
  const { mailFrom } = mx.messages.findLast(({ rcptTo }) => rcptTo[0] === erin)!
  await relay.send([erin, 'later@rcpt.example', 'moved@rcpt.example'], { subject: `For ${erin}` })
  await relay.send(erin, { scheduled_at })
  const email = { from: 'app@sender.example', to: erin, subject: 'once', text: 'once' }
  for (const key of ['once', `once-${erin}`]) await call('POST', '/api/send', email, { 'idempotency-key': key })
  await submit(relay, [`gone-${erin}`, 'bob@rcpt.example'])
  await isQuiet()
  await expect.poll(() => db.read(`select name from cursor where name = 'notice' and position < (select max(seq) from event)`)).toEqual([])
  await isQuiet()
  await returnMail(relay.returnPathPort, mailFrom, [composeDsn({ recipient: erin, diagnostic: `550 5.1.1 <${erin}> unknown` })])
  await returnMail(relay.returnPathPort, 'fbl@relay.example', [`From: ${erin}\r\nSubject: spam\r\n\r\nI am ${erin}`])
  await settled()
  await isQuiet()

  const erase = async (email: string): Promise<string> => {
    const { id } = await call('POST', '/api/erasures', { email })
    await services.erasures.finished(id)
    return id
  }
  const first = await erase(erin)
  // What comes back now names her again.
  await returnMail(relay.returnPathPort, mailFrom, [composeDsn({ recipient: erin, diagnostic: `550 5.1.1 <${erin}> unknown` })])
  await settled()
  await erase(`gone-${erin}`)
  await call('DELETE', `/api/webhooks/${webhookId}`)
  const last = (
    await services.erasures.begin({ address: erin, localPart: 'erin', domain: 'rcpt.example' }, { accountId: null, sandboxOnly: false })
  ).id
  await services.erasures.finished(last)
  await call('GET', `/api/erasures/${first}`)
  for (const query of ['', `?after=${last}`, `?before=${first}`]) await call('GET', `/api/erasures${query}`)
  await services.queueAdmin.bounce('rcpt.example')
  await services.erasures.resume()
  await call('PATCH', '/api/account', { delivery_notices: false })
  await services.erasures.sweep(relay.clock.now() - 1)
}

async function submit(relay: TestRelay, to: string[]): Promise<void> {
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  const { code } = await client.send('From: app@sender.example\r\nSubject: by SMTP\r\n\r\nHello', { from: 'app@sender.example', to })
  client.close()
  expect(code).toBe(250)
}
