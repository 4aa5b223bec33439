import { afterAll, expect, test } from 'vitest'
import { ReturnedMailStore, type ReturnPathRecipient, type ReturnPathPurpose } from '../../../src/mail-back/feedback/returned-mail-store.ts'
import { ReturnedMailBudget } from '../../../src/mail-back/feedback/returned-mail-budget.ts'
import { newId } from '../../../src/platform/id.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { testDatabase } from '../../support/test-database.ts'
import { settableClock } from '../../support/settable-clock.ts'

const db = await testDatabase(afterAll)

/** Room for ten of the smallest messages in each box. */
async function tenPlaces() {
  await db.write([{ sql: 'delete from returned_mail' }, { sql: 'delete from returned_mail_content' }])
  const clock = settableClock()
  let looks = 0
  const slowRead: Database['slowRead'] = (sql, params) => (looks++, db.slowRead(sql, params))
  const returnedMail = new ReturnedMailStore({ db: { ...db, slowRead }, clock, budget: new ReturnedMailBudget(clock, 10 * 4_096) })
  let sources = 0
  /** Each from another source. */
  const keep = async (purpose: ReturnPathPurpose, { settled }: { settled: boolean }, count = 1): Promise<string | null> => {
    clock.advance(1)
    const id = newId('rep', clock.now())
    const address = (place: number): ReturnPathRecipient => ({
      forwardPath: `a${place}@relay.example`,
      purpose,
      recipientId: purpose === 'bounce' ? `rcp_${sources}` : null,
    })
    const isKept = await returnedMail.keep({
      id,
      reversePath: null,
      recipients: Array.from({ length: count }, (_, place) => address(place)),
      remoteAddress: `192.0.2.${sources++}`,
      ehloName: 'mx.example',
      tls: true,
      requireTls: false,
      content: Buffer.from('Subject: hi\r\n\r\nhello\r\n'),
    })
    if (settled) await db.write([{ sql: "update returned_mail set state = 'done' where content_id = :id", params: { id } }])
    return isKept ? id : null
  }
  const contents = async () => (await db.read<{ id: string }>('select id from returned_mail_content order by id')).map(({ id }) => id)
  return { keep, contents, clock, looks: () => looks }
}

test.each<ReturnPathPurpose>(['bounce', 'complaint', 'dmarc_report'])(
  'a full box deletes its oldest settled contents to accept a new %s',
  async (purpose) => {
    const { keep, contents } = await tenPlaces()
    const waiting = await keep(purpose, { settled: false })
    for (let i = 0; i < 9; i++) await keep(purpose, { settled: true })
    const next = await Promise.all([keep(purpose, { settled: false }), keep(purpose, { settled: false })])
    expect(next).not.toContain(null)
    expect(await contents()).toEqual(expect.arrayContaining([waiting, ...next]))
  },
)

test('pending mail and mail for the operator are never deleted', async () => {
  const { keep, contents } = await tenPlaces()
  for (let i = 0; i < 10; i++) await keep('bounce', { settled: false })
  expect(await keep('bounce', { settled: false })).toBe(null)
  for (let i = 0; i < 10; i++) await keep('postmaster', { settled: true })
  expect(await keep('abuse', { settled: true })).toBe(null)
  expect(await contents()).toHaveLength(20)
  expect(await keep('complaint', { settled: true })).not.toBe(null)
})

test('if nothing can be deleted, searches once a second, and deletes content once it is settled', async () => {
  const { keep, contents, clock, looks } = await tenPlaces()
  for (let i = 0; i < 10; i++) await keep('bounce', { settled: false })
  for (let i = 0; i < 20; i++) expect(await keep('bounce', { settled: false })).toBe(null)
  expect(looks()).toBe(1)
  await db.write([{ sql: "update returned_mail set state = 'done'" }])
  clock.advance(1_000)
  const next = await keep('bounce', { settled: false })
  expect(await contents()).toEqual([next])
})

test('deletes nothing for a message that would not fit anyway', async () => {
  const { keep, contents } = await tenPlaces()
  for (let i = 0; i < 10; i++) await keep('bounce', { settled: true })
  expect(await keep('bounce', { settled: true }, 11)).toBe(null)
  expect(await contents()).toHaveLength(10)
})
