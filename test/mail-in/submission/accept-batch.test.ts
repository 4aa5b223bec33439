import { MailQuotas } from '../../../src/senders/account/mail-quotas.ts'
import { expect, test } from 'vitest'
import { SternaError } from '../../../src/platform/errors.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { metricsOf } from '../../../src/platform/metrics/metrics.ts'
import { aloneWithLimits } from '../../../src/platform/store/local-windows.ts'
import { UrgentMail } from '../../../src/mail-in/submission/urgent-mail.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import { ConflictError, StorageFullError, type Database } from '../../../src/platform/store/database.ts'
import { acceptBatch } from '../../../src/mail-in/submission/accept-batch.ts'
import type { AcceptServices } from '../../../src/mail-in/submission/admit.ts'
import type { Lane } from '../../../src/mail-out/queue/queue-store.ts'
import { secretsFrom } from '../../../src/senders/account/key-file.ts'
import { IdempotencyKeys } from '../../../src/mail-in/submission/idempotency-keys.ts'
import { Uploads } from '../../../src/mail-in/submission/upload.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { contentOf, submissionTo } from '../../support/submission-fixture.ts'
import { testDatabase } from '../../support/test-database.ts'
import { erasedAddress } from '../../support/erased-address.ts'
import { OtherForms } from '../../../src/mail/suppression/suppression-list.ts'

const submitter = { accountId: 'acc_1', domainId: null, sandbox: false }
const idempotency = { operation: 'send-batch', key: 'k', fingerprint: 'f' }
const large = () => contentOf('x'.repeat(800_000))

async function startDoor(): Promise<{ db: Database; waiting: [string, number][]; services: AcceptServices; writes: number[] }> {
  const db = await testDatabase()
  await db.write([{ sql: "insert into account (id, name, plan, status, created_at) values ('acc_1', 'one', 'free', 'active', 0)" }])
  const clock = settableClock()
  const waiting: [string, number][] = []
  const writes: number[] = []
  const counted: Database = {
    ...db,
    write(batch, options) {
      writes.push(
        batch.reduce(
          (size, { params }) =>
            size + Object.values(params ?? {}).reduce((sum: number, value) => sum + (value instanceof Uint8Array ? value.length : 0), 0),
          0,
        ),
      )
      return db.write(batch, options)
    },
  }
  const queue = {
    noteWaiting: ({ destination }: Lane, dueAt: number) => waiting.push([destination, dueAt]),
  } as unknown as AcceptServices['queue']
  const accounts = {
    accountFor: () => ({ id: 'acc_1', name: 'one', plan: 'free', status: 'active', slowedUntil: null, harm: null, createdAt: 0 }),
  } as unknown as AcceptServices['accounts']
  const services: AcceptServices = {
    db: counted,
    clock,
    changes: aloneWithChanges,
    log: silentLog,
    queue,
    accounts,
    quotas: new MailQuotas({ db: counted, clock, log: silentLog, policies: accountPolicies(db) }),
    erasedAddress,
    otherForms: new OtherForms(db),
    uploads: uploadsTo(counted),
    idempotencyKeys: new IdempotencyKeys({ db: counted, clock, secrets: secretsFrom(Buffer.alloc(32)), owner: 'node_1' }),
    verifiedDomainFor: (_, name) => ({ id: 'dom_1', name, tracking: { opens: false, clicks: false } }),
    metrics: metricsOf(),
    urgentMail: { ranked: (submission) => submission },
    slowedMail: { take: () => undefined },

    giveUpAfterMs: 1000,
  }
  return { db, waiting, services, writes }
}

const uploadsTo = (db: Database): Uploads => new Uploads({ db, owner: 'node_1', log: silentLog, space: { require: () => {} } })

const rows = async (db: Database) => {
  const tables = ['message', 'recipient', 'content', 'upload', 'event']
  return Object.fromEntries(await Promise.all(tables.map(async (table) => [table, (await db.read(`select * from ${table}`)).length])))
}

test('each commit holds a bounded piece of the content, and the last one all messages', async () => {
  const { db, services, writes, waiting } = await startDoor()
  const items = [
    submissionTo(['a@r.example', 'b@s.example']),
    submissionTo(['c@r.example'], { content: large() }),
    submissionTo(['d@r.example'], { content: large() }),
  ]
  const accepted = await acceptBatch({ submitter, items, mode: 'strict', idempotency: null }, services)
  expect(accepted.emails.map(({ messageId }) => messageId)).toEqual(items.map(({ id }) => id))
  expect(Math.max(...writes)).toBeLessThanOrEqual(1024 * 1024)
  expect(await rows(db)).toMatchObject({ message: 3, recipient: 4, upload: 0, event: 4 })
  const now = services.clock.now()
  expect(waiting).toEqual([
    ['r.example', now],
    ['s.example', now],
  ])
})

test('what was stored ahead is removed where the batch is refused in the end', async () => {
  for (const error of [new SternaError('service_unavailable', 'no'), new ConflictError('idempotency'), new StorageFullError()]) {
    const { db, services } = await startDoor()
    const write: Database['write'] = (batch, options) =>
      batch.some(({ sql }) => sql.includes('into message')) ? Promise.reject(error) : db.write(batch, options)
    const items = [submissionTo(['a@r.example'], { content: large() }), submissionTo(['b@r.example'], { content: large() })]
    const batch = { submitter, items, mode: 'permissive', idempotency } as const
    const failing = { ...db, write }
    await expect(acceptBatch(batch, { ...services, db: failing, uploads: uploadsTo(failing) })).rejects.toBeInstanceOf(
      error instanceof ConflictError ? SternaError : Error,
    )
    expect(await rows(db)).toEqual({ message: 0, recipient: 0, content: 0, upload: 0, event: 0 })
  }
})

test('after a failure that nobody understands the messages may be there, and keep their content', async () => {
  const { db, services } = await startDoor()
  const write: Database['write'] = async (batch, options) => {
    const written = await db.write(batch, options)
    if (batch.some(({ sql }) => sql.includes('into message'))) throw new Error('the answer was lost')
    return written
  }
  const items = [submissionTo(['a@r.example'], { content: large() }), submissionTo(['b@r.example'], { content: large() })]
  const failing = { ...db, write }
  await expect(
    acceptBatch({ submitter, items, mode: 'strict', idempotency: null }, { ...services, db: failing, uploads: uploadsTo(failing) }),
  ).rejects.toThrow('the answer was lost')
  expect(await rows(db)).toMatchObject({ message: 2, recipient: 2, upload: 0, content: 2 })
})

test('a batch that is refused, or was taken before, uses up none of the urgent mail', async () => {
  const { services, db } = await startDoor()
  const limitShares = aloneWithLimits(services)
  const urgentMail = new UrgentMail({ limitShares, policies: accountPolicies(db), log: silentLog })
  const withUrgentMail = { ...services, urgentMail }
  const items = ['a', 'b'].map((name) => submissionTo([`${name}@r.example`], { options: { transfer: { priority: 4 } } }))
  const batch = { submitter, items, mode: 'strict', idempotency } as const
  const refused = { ...batch, items: [...items, new SternaError('validation_error', 'no')] }
  for (let i = 0; i < 40; i++) await expect(acceptBatch(refused, withUrgentMail)).rejects.toThrow('no')
  for (let i = 0; i < 40; i++) expect(await acceptBatch(batch, withUrgentMail)).toMatchObject({ replayed: i > 0 })
  const ranked = await urgentMail.ranked(
    submissionTo(
      Array.from({ length: 58 }, (_, i) => `${i}@r.example`),
      { options: { transfer: { priority: 4 } } },
    ),
  )
  expect(ranked.isLowered).toBeUndefined()
})

test('an address that comes onto the suppression list meanwhile is left out', async () => {
  const { db, services } = await startDoor()
  await db.write([
    {
      sql: "insert into suppression (id, account_id, address, origin, topic, sandbox, created_at) values ('sup_1', 'acc_1', 'b@r.example', 'bounce', '', 0, 0)",
    },
  ])
  const items = [submissionTo(['a@r.example', 'B@r.example']), submissionTo(['b@r.example'])]
  const { emails } = await acceptBatch({ submitter, items, mode: 'strict', idempotency }, services)
  expect(emails.map(({ status, recipients }) => [status, recipients.map(({ state }) => state)])).toEqual([
    ['queued', ['queued', 'suppressed']],
    ['suppressed', ['suppressed']],
  ])
  expect(await acceptBatch({ submitter, items, mode: 'strict', idempotency }, services)).toEqual({ replayed: true, emails, errors: [] })
})
