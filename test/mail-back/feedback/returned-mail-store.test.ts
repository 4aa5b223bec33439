import { afterAll, expect, test } from 'vitest'
import { ReturnedMailStore, type Arrival, type ReturnPathPurpose } from '../../../src/mail-back/feedback/returned-mail-store.ts'
import { ReturnedMailBudget } from '../../../src/mail-back/feedback/returned-mail-budget.ts'
import { newId } from '../../../src/platform/id.ts'
import { claimedReturnedMail } from '../../support/claimed-returned-mail.ts'
import { testDatabase } from '../../support/test-database.ts'
import { settableClock } from '../../support/settable-clock.ts'

const hour = 3_600_000
const db = await testDatabase(afterAll)
const clock = settableClock()
const smallestCost = 4_096

async function freshStore(limit = 1_000_000) {
  await db.write([{ sql: 'delete from returned_mail' }, { sql: 'delete from returned_mail_content' }])
  let arrived = 0
  const returnedMail = new ReturnedMailStore({ db, clock, budget: new ReturnedMailBudget(clock, limit) })
  returnedMail.onArrival(() => void arrived++)
  await returnedMail.measure()
  return { returnedMail, arrivals: () => arrived }
}

const arrival = (fields: Partial<Arrival> = {}): Arrival => ({
  id: newId('rep', clock.now()),
  reversePath: null,
  recipients: [{ forwardPath: 'abuse@relay.example', purpose: 'abuse', recipientId: null }],
  remoteAddress: '192.0.2.1',
  ehloName: 'mx.example',
  tls: true,
  requireTls: true,
  content: Buffer.from('Subject: hi\r\n\r\nhello\r\n'),
  ...fields,
})
const settle = (id: string) => db.write([{ sql: "update returned_mail set state = 'done' where id = :id", params: { id } }])
const claimed = (purpose: ReturnPathPurpose) => claimedReturnedMail(db, purpose, { by: 'account', name: 'none' })
const contentsLeft = async () => (await db.read('select id from returned_mail_content')).length

const kept = async (returnedMail: ReturnedMailStore): Promise<string> => {
  const message = arrival()
  expect(await returnedMail.keep(message)).toBe(true)
  return message.id
}

test('a message has a row for each recipient and one content', async () => {
  const { returnedMail, arrivals } = await freshStore()
  const token = { forwardPath: 'Btoken@relay.example', purpose: 'bounce', recipientId: 'rcp_1' } as const
  const message = arrival({ recipients: [token, { forwardPath: 'fbl@relay.example', purpose: 'complaint', recipientId: null }] })
  expect(await returnedMail.keep(message)).toBe(true)
  expect(arrivals()).toBe(1)
  const found = [...(await claimed('bounce')), ...(await claimed('complaint'))]
  expect(found.map(({ purpose }) => purpose)).toEqual(['bounce', 'complaint'])
  expect(found[0]).toEqual({
    id: message.id,
    receivedAt: clock.now(),
    ...token,
    reversePath: null,
    remoteAddress: '192.0.2.1',
    size: 22,
    retries: 0,
    requireTls: true,
  })
  for (const { id } of found) expect(Buffer.from((await returnedMail.content(id)) ?? []).toString()).toContain('hello')
  expect(await contentsLeft()).toBe(1)
})

test('settled mail is not returned again', async () => {
  const { returnedMail } = await freshStore()
  const first = await kept(returnedMail)
  const second = await kept(returnedMail)
  await settle(first)
  expect((await claimed('abuse')).map(({ id }) => id)).toEqual([second])
})

test('sweep deletes old settled contents, and old rows', async () => {
  const { returnedMail } = await freshStore()
  const settled = await kept(returnedMail)
  const waiting = await kept(returnedMail)
  await settle(settled)
  clock.advance(2 * hour)
  const fresh = await kept(returnedMail)
  await settle(fresh)
  await returnedMail.sweep({ contentMs: hour, eventMs: 10 * hour })
  expect(
    [await returnedMail.content(settled), await returnedMail.content(waiting), await returnedMail.content(fresh)].map(
      (bytes) => bytes !== null,
    ),
  ).toEqual([false, true, true])
  expect((await db.read('select id from returned_mail')).length).toBe(3)
  clock.advance(9 * hour)
  await returnedMail.sweep({ contentMs: hour, eventMs: 10 * hour })
  expect(await db.read('select id from returned_mail')).toEqual([{ id: fresh }])
  expect(await contentsLeft()).toBe(0)
})

test('a full box refuses, even after a restart, and accepts again once content is deleted', async () => {
  const { returnedMail } = await freshStore(8_192)
  expect(await returnedMail.keep(arrival({ remoteAddress: '192.0.2.1' }))).toBe(true)
  expect(await returnedMail.keep(arrival({ remoteAddress: '192.0.2.2' }))).toBe(true)
  expect(await returnedMail.keep(arrival({ remoteAddress: '192.0.2.3' }))).toBe(false)
  const again = new ReturnedMailStore({ db, clock, budget: new ReturnedMailBudget(clock, 8_192) })
  await again.measure()
  expect(await again.keep(arrival({ remoteAddress: '192.0.2.3' }))).toBe(false)
  for (const { id } of await claimed('abuse')) await settle(id)
  clock.advance(hour)
  await again.sweep({ contentMs: hour, eventMs: 10 * hour })
  expect(await again.keep(arrival({ remoteAddress: '192.0.2.3' }))).toBe(true)
})

test('a token has its daily share from any network; at public addresses each network has its own', async () => {
  const { returnedMail } = await freshStore(16 * smallestCost)
  const fbl = { forwardPath: 'fbl@relay.example', purpose: 'complaint', recipientId: null } as const
  const token = (name: string) => ({ forwardPath: `b${name}@relay.example`, purpose: 'bounce', recipientId: `rcp_${name}` }) as const
  const keep = async (remoteAddress: string, ...recipients: Arrival['recipients']) => {
    const message = arrival({ remoteAddress, recipients })
    const isKept = await returnedMail.keep(message)
    await db.write([{ sql: "update returned_mail set state = 'done'" }])
    return isKept
  }
  expect([await keep('192.0.2.1', token('one')), await keep('192.0.2.2', token('one')), await keep('192.0.2.1', token('two'))]).toEqual([
    true,
    false,
    true,
  ])
  expect([await keep('192.0.2.1', fbl), await keep('192.0.2.1', fbl), await keep('192.0.2.2', fbl)]).toEqual([true, false, true])
  expect([await keep('2001:db8::1', fbl), await keep('2001:db8::2', fbl), await keep('2001:db8:1::1', fbl)]).toEqual([true, false, true])
  // Somebody with tokens gets no more at the others by them.
  expect(await keep('192.0.2.1', token('three'), fbl)).toBe(false)
  clock.advance(24 * hour - 1)
  expect([await keep('192.0.2.3', token('one')), await keep('192.0.2.1', fbl)]).toEqual([false, false])
  clock.advance(1)
  expect([await keep('192.0.2.3', token('one')), await keep('192.0.2.1', fbl)]).toEqual([true, true])
})
