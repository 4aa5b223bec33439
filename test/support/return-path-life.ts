import { expect } from 'vitest'
import { ReturnedMailStore } from '../../src/mail-back/feedback/returned-mail-store.ts'
import { ReturnedMailBudget } from '../../src/mail-back/feedback/returned-mail-budget.ts'
import { ReturnedMailRoom } from '../../src/mail-back/feedback/returned-mail-room.ts'
import { SmtpClient } from './smtp-client.ts'
import type { TestRelay } from './start-relay.ts'

const day = 86_400_000

/** Mail comes in by the return path, makes room for other mail, and is swept out when it is old. */
export async function hearBack(relay: TestRelay): Promise<void> {
  const { db } = relay.relay.services
  const client = await SmtpClient.connect(relay.returnPathPort)
  await client.command('EHLO mx.rcpt.example')
  for (const to of [['postmaster@relay.example', 'abuse@relay.example'], ['fbl@relay.example']]) {
    const { code } = await client.send('From: ann@rcpt.example\r\nSubject: Hi\r\n\r\nHello', { to })
    expect(code).toBe(250)
  }
  client.close()
  await expect.poll(() => db.read("select id from returned_mail where state = 'received'")).toEqual([])
  // A box that is full of one: it leaves, since it is settled.
  const budget = new ReturnedMailBudget(relay.clock, 4_096)
  budget.take('open', '192.0.2.1', 4_096)
  expect(await new ReturnedMailRoom({ db, clock: relay.clock, budget }).take('open', '192.0.2.2', 4_096)).toBe(true)
  relay.clock.advance(10 * day)
  const returnedMail = new ReturnedMailStore({ db, clock: relay.clock, budget: new ReturnedMailBudget(relay.clock, 1_000_000) })
  await returnedMail.sweep({ contentMs: day, eventMs: 20 * day })
  expect(await returnedMail.nextSource('abuse', { by: 'network', name: '' })).toBe(null)
}
