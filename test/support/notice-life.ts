import { expect } from 'vitest'
import { SmtpClient } from './smtp-client.ts'
import type { TestRelay } from './start-relay.ts'

const hour = 3_600_000

/** Those who submit by SMTP are told what became of it: a failure, and a delay, of which one is over before its time. */
export async function tellSubmitters(relay: TestRelay, isQuiet: () => Promise<void>): Promise<void> {
  const { db, queueAdmin } = relay.relay.services
  const gives = (sql: string, wanted: object[]) => expect.poll(() => db.read(sql)).toEqual(wanted)
  const allTold = async (): Promise<void> => {
    await gives(`select name from cursor where name = 'notice' and position < (select max(seq) from event)`, [])
    await isQuiet()
  }
  await relay.call('PATCH', '/api/account', { delivery_notices: true })
  for (const to of ['gone-too@rcpt.example', 'later@rcpt.example', 'later-too@rcpt.example']) {
    await submit(relay, to)
    await gives(`select state from recipient where forward_path = '${to}' and state = 'queued'`, [])
    await allTold()
    if (to === 'later@rcpt.example') await queueAdmin.bounce('rcpt.example')
  }
  await allTold()
  relay.clock.advance(5 * hour)
  await gives('select recipient_id from notice where due_at is not null', [])
  await allTold()
  await relay.call('PATCH', '/api/account', { delivery_notices: false })
  await queueAdmin.bounce('rcpt.example')
  await isQuiet()
}

async function submit(relay: TestRelay, to: string): Promise<void> {
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  const { code } = await client.send('From: app@sender.example\r\n\r\nHello', { from: 'app@sender.example', to: [to] })
  client.close()
  expect(code).toBe(250)
}
