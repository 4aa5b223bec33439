import { expect } from 'vitest'
import { readFeedbackSubject } from '../../src/mail-back/feedback/feedback-subject.ts'
import { settleDelivery } from '../../src/mail-back/feedback/settle-returned-mail.ts'
import { sweepSuppressions } from '../../src/mail/suppression/remove-suppressions.ts'
import type { FakeMx } from './fake-mx.ts'
import { composeComplaint, composeDsn, composeVacation, headerOf, returnMail } from './returned-mail.ts'
import type { TestRelay } from './start-relay.ts'

const day = 86_400_000

/** Reports about single emails come back, are settled and looked at; accounts differ in what follows of them. */
export async function hearOfMail(relay: TestRelay, mx: FakeMx): Promise<void> {
  const { db, accounts, apiKeys } = relay.relay.services
  const account = accounts.getAccount('test')
  const { token } = await apiKeys.create({ accountId: account.id, name: 'reports', permission: 'operator' })
  const operator = async (method: string, path: string, body?: unknown): Promise<any> => {
    const answer = await relay.call(method, path, body, { authorization: `Bearer ${token}` })
    expect(answer.status).toBe(200)
    return answer.body
  }
  const bringBack = async (to: string, text: string): Promise<void> => {
    expect((await returnMail(relay.returnPathPort, to, [text]))[0]?.code).toBe(250)
    await expect.poll(() => db.read("select id from returned_mail where state = 'received'")).toEqual([])
    relay.clock.advance(1_000)
  }

  const policy = `/api/accounts/${account.id}/suppression-policy`
  await operator('PATCH', policy, { soft_bounces: 2, expiry_seconds: 60 })
  for (const name of ['hard', 'full', 'full', 'spam']) {
    const address = `${name}@rcpt.example`
    const { returnPath, data } = await deliver(relay, mx, address)
    if (name === 'spam') await bringBack('fbl@relay.example', composeComplaint({ original: headerOf(data) }))
    else
      await bringBack(
        returnPath,
        composeDsn({ recipient: address, status: name === 'hard' ? '5.1.1' : '5.2.2', diagnostic: '550 of no use' }),
      )
    await bringBack(returnPath, composeVacation())
  }
  const { data } = await operator('GET', '/api/feedback?purpose=bounce&result=bounced')
  expect(data).toHaveLength(3)
  for (const query of ['limit=1', `email_id=${data[0].email_id}`, `after=${data[0].id}`, `before=${data[1].id}`])
    await operator('GET', `/api/feedback?${query}`)
  await relay.call('GET', '/api/feedback')
  await operator('GET', `/api/feedback/${data[0].id}`)
  expect((await relay.call('GET', '/api/suppressions/full@rcpt.example')).body).toMatchObject({ origin: 'bounce' })
  relay.clock.advance(day)
  await sweepSuppressions(db, relay.clock.now(), day / 2)
  expect((await relay.call('GET', '/api/suppressions/full@rcpt.example')).status).toBe(404)
  await operator('PATCH', policy, { soft_bounces: null, expiry_seconds: null })
  // As mail that a smarthost has taken, and reports.
  await deliver(relay, mx, 'relayed@rcpt.example')
  await db.write([{ sql: "update recipient set state = 'sent' where forward_path = 'relayed@rcpt.example'" }])
  const [{ id } = { id: '' }] = await db.read<{ id: string }>("select id from recipient where forward_path = 'relayed@rcpt.example'")
  const subject = await readFeedbackSubject(db, id)
  await db.write(settleDelivery(subject!, { status: '2.0.0', smtpCode: 250, reason: '250 OK' }, 'Mailgun', relay.clock.now()))
  expect((await readFeedbackSubject(db, id))?.state).toBe('delivered')
  relay.clock.advance(1_000)
  // In words alone, on two days.
  for (const origin of [null, 'bounce']) {
    const { returnPath } = await deliver(relay, mx, 'nobody@rcpt.example')
    await bringBack(returnPath, composeDsn({ recipient: 'nobody@rcpt.example', status: '5.0.0', diagnostic: '550 No such user' }))
    expect((await relay.call('GET', '/api/suppressions/nobody@rcpt.example')).body.origin ?? null).toBe(origin)
    relay.clock.advance(day)
  }
}

async function deliver(relay: TestRelay, mx: FakeMx, address: string): Promise<{ returnPath: string; data: Buffer }> {
  const id = await relay.send(address)
  await expect.poll(async () => (await relay.recipients(id))[address]?.status).toBe('delivered')
  relay.clock.advance(1_000)
  const { mailFrom, data } = mx.messages.findLast(({ rcptTo }) => rcptTo[0] === address)!
  return { returnPath: mailFrom, data }
}
