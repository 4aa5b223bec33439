import { aloneAs } from '../../../src/platform/store/only-node.ts'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Clock } from '../../../src/platform/clock.ts'
import { SternaError } from '../../../src/platform/errors.ts'
import { ReturnedMailStore, type ReturnPathPurpose } from '../../../src/mail-back/feedback/returned-mail-store.ts'
import { ReturnedMailBudget } from '../../../src/mail-back/feedback/returned-mail-budget.ts'
import { withoutEffect, type ReturnedMailHandler } from '../../../src/mail-back/feedback/returned-mail-handler.ts'
import { ReturnedMailRunner } from '../../../src/mail-back/feedback/returned-mail-runner.ts'
import { newId } from '../../../src/platform/id.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { metricsOf } from '../../../src/platform/metrics/metrics.ts'
import { StorageFullError, type Statement } from '../../../src/platform/store/database.ts'
import { ReaderKilledError } from '../../../src/platform/untrusted-reader.ts'
import { testDatabase } from '../../support/test-database.ts'
import { settableClock } from '../../support/settable-clock.ts'

const db = await testDatabase(afterAll)
const clock = settableClock()
const returnedMail = new ReturnedMailStore({ db, clock, budget: new ReturnedMailBudget(clock, 1_000_000_000) })
beforeEach(() => db.write([{ sql: 'delete from returned_mail' }, { sql: 'delete from returned_mail_content' }]))

type RunnerServices = ConstructorParameters<typeof ReturnedMailRunner>[0]

/** A runner for mail to abuse. */
function start(handler: ReturnedMailHandler, services: Partial<RunnerServices> = {}): ReturnedMailRunner {
  const runner = new ReturnedMailRunner({
    db,
    nodes: aloneAs('node_1'),
    clock,
    log: silentLog,
    metrics: metricsOf(),
    returnedMail,
    purpose: 'abuse',
    handler,
    ...services,
  })
  returnedMail.onArrival(() => runner.mailArrived())
  onTestFinished(() => runner.stop(1_000))
  return runner
}

/** The reports that have come in, read in another way as far as it is given. */
const returnedMailWith = (reading: Partial<RunnerServices['returnedMail']>): RunnerServices['returnedMail'] => ({
  nextSource: (purpose, source) => returnedMail.nextSource(purpose, source),
  firstDue: (purpose) => returnedMail.firstDue(purpose),
  content: (id) => returnedMail.content(id),
  ...reading,
})

interface Arrived {
  purpose?: ReturnPathPurpose
  remoteAddress?: string
  recipientId?: string | null
}

async function arrive(
  text = 'Subject: hi\r\n\r\nhello\r\n',
  { purpose = 'abuse', remoteAddress = '192.0.2.1', recipientId = null }: Arrived = {},
): Promise<string> {
  const id = newId('rep', clock.now())
  const recipients = [{ forwardPath: 'any@relay.example', purpose, recipientId }]
  expect(
    await returnedMail.keep({
      id,
      reversePath: null,
      recipients,
      remoteAddress,
      ehloName: 'mx.example',
      tls: true,
      requireTls: false,
      content: Buffer.from(text),
    }),
  ).toBe(true)
  return id
}

const results = async (): Promise<Record<string, string | null>> => {
  const rows = await db.read<{ id: string; result: string | null }>('select id, result from returned_mail order by id')
  return Object.fromEntries(rows.map(({ id, result }) => [id, result]))
}
const settledAs = (wanted: Record<string, string | null>) => expect.poll(results).toEqual(wanted)

test('settles stored mail and new mail, in order', async () => {
  const taken: string[] = []
  const first = await arrive('1')
  const second = await arrive('2')
  start(async (_, content) => {
    taken.push(Buffer.from(content).toString())
    return withoutEffect('stored')
  }).mailArrived()
  const third = await arrive('3')
  await settledAs({ [first]: 'stored', [second]: 'stored', [third]: 'stored' })
  expect(taken).toEqual(['1', '2', '3'])
})

test('settles an unreadable message as not understood, with the reason, and goes on', async () => {
  start(async (_, content) => {
    if (Buffer.from(content).toString() === 'bomb') throw new SternaError('invalid_message', 'It could not be read within 2000 ms.')
    return withoutEffect('stored')
  })
  const bomb = await arrive('bomb')
  const other = await arrive()
  await settledAs({ [bomb]: 'not_understood', [other]: 'stored' })
  const [row] = await db.read<{ summary: string }>('select summary from returned_mail where id = :bomb', { bomb })
  expect(JSON.parse(row?.summary ?? '')).toEqual({ fault: 'It could not be read within 2000 ms.' })
})

test('retries after an unknown error, and settles other mail meanwhile', async () => {
  let isBroken = true
  start(async (_, content) => {
    if (isBroken && Buffer.from(content).toString() === 'odd') throw new TypeError('nobody thought of this')
    return withoutEffect('stored')
  })
  const odd = await arrive('odd')
  const other = await arrive()
  await settledAs({ [odd]: null, [other]: 'stored' })
  isBroken = false
  await expect.poll(() => clock.advance(1_000) ?? results()).toEqual({ [odd]: 'stored', [other]: 'stored' })
})

test('retries a message whose parser was killed, but not for ever', async () => {
  let kills = 3
  const taken: string[] = []
  start(async (_, content) => {
    const text = Buffer.from(content).toString()
    taken.push(text)
    if (text === 'deadly' || kills-- > 0) throw new ReaderKilledError('SIGKILL')
    return withoutEffect('stored')
  })
  const unlucky = await arrive('unlucky')
  while ((await results())[unlucky] === null) clock.advance(1_000)
  expect(await results()).toEqual({ [unlucky]: 'stored' })
  expect(taken).toEqual(['unlucky', 'unlucky', 'unlucky', 'unlucky'])
  const deadly = await arrive('deadly')
  while ((await results())[deadly] === null) clock.advance(1_000)
  expect(await results()).toEqual({ [unlucky]: 'stored', [deadly]: 'not_understood' })
  expect(taken.slice(4)).toEqual(Array.from({ length: 9 }, () => 'deadly'))
})

test('waits while the disk is full', async () => {
  let failures = 3
  const write = async (batch: Statement[]) => {
    if (failures-- > 0) throw new StorageFullError()
    return db.write(batch)
  }
  start(async () => withoutEffect('stored'), { db: { write } })
  const id = await arrive()
  await expect.poll(() => clock.advance(1_000) ?? results()).toEqual({ [id]: 'stored' })
})

test('retries a provisional outcome, and writes it in the end', async () => {
  let looks = 0
  start(async () => ({ ...withoutEffect('not_sent'), isProvisional: ++looks !== 3 }))
  const id = await arrive()
  for (const seen of [1, 2]) {
    await expect.poll(() => looks).toBe(seen)
    expect(await results()).toEqual({ [id]: null })
    // The look has ended when its successor is waited for.
    await expect.poll(() => clock.advance(seen * 1_000) ?? looks).toBeGreaterThan(seen)
  }
  await settledAs({ [id]: 'not_sent' })
})

/** A clock that tells for when the newest timer is set. */
function watchedClock() {
  let next = 0
  const at: Clock['at'] = (time, fire) => clock.at((next = time), fire)
  /** Waits until a timer is set, and sets the clock to its time. */
  const goOn = async (): Promise<void> => {
    await expect.poll(() => next, { interval: 5 }).toBeGreaterThan(clock.now())
    clock.set(next)
  }
  return { clock: { ...clock, at }, goOn }
}

test('retries quickly at first, and long enough for a slow commit, then writes the provisional outcome', async () => {
  const watched = watchedClock()
  const since = clock.now()
  const seconds: number[] = []
  const handler: ReturnedMailHandler = async () => {
    seconds.push((clock.now() - since) / 1_000)
    return { ...withoutEffect('not_sent'), isProvisional: true }
  }
  start(handler, { clock: watched.clock })
  const id = await arrive()
  for (let look = 1; look <= 8; look++) {
    await watched.goOn()
    expect(await results()).toEqual({ [id]: null })
  }
  await settledAs({ [id]: 'not_sent' })
  expect(seconds).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255])
})

test('retries a failing message every ten minutes, so that it is settled soon after the cause is gone', async () => {
  const watched = watchedClock()
  const times: number[] = []
  const handler: ReturnedMailHandler = async () => {
    if (times.push(clock.now()) < 20) throw new TypeError('nobody thought of this')
    return withoutEffect('stored')
  }
  start(handler, { clock: watched.clock })
  const id = await arrive()
  for (let failure = 1; failure < 20; failure++) await watched.goOn()
  await settledAs({ [id]: 'stored' })
  expect(times[19]! - times[18]!).toBe(600_000)
})

test('tries again soon if the database cannot be read', async () => {
  let failures = 1
  const sometimes = returnedMailWith({
    nextSource: async (purpose, source) => {
      if (failures-- > 0) throw new Error('the disk does not answer')
      return returnedMail.nextSource(purpose, source)
    },
  })
  const id = await arrive()
  start(async () => withoutEffect('stored'), { returnedMail: sometimes }).mailArrived()
  await settledAs({ [id]: 'stored' })
})

test('reads several quick messages at a time, from one network too', async () => {
  const ids: string[] = []
  for (let i = 0; i < 20; i++) ids.push(await arrive())
  let [atOnce, most] = [0, 0]
  start(async () => {
    most = Math.max(most, ++atOnce)
    await db.read('select 1')
    atOnce--
    return withoutEffect('stored')
  }).mailArrived()
  await settledAs(Object.fromEntries(ids.map((id) => [id, 'stored'])))
  expect(most).toBeGreaterThan(4)
})

test('a message in hand when the relay stopped is settled once, by the next run', async () => {
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  let isInHand = false
  const first = start(async () => {
    isInHand = true
    await held
    return withoutEffect('no_report')
  })
  const id = await arrive()
  await expect.poll(() => isInHand).toBe(true)
  await first.stop(0)
  start(async () => withoutEffect('stored')).mailArrived()
  await settledAs({ [id]: 'stored' })
  release()
  // Until what it had in hand is written, or refused.
  await first.stop(10_000)
  expect(await results()).toEqual({ [id]: 'stored' })
})

test('decides again if another change came first', async () => {
  await db.write([{ sql: "insert into cursor (name, position) values ('raced', 0)" }])
  let position = 0
  start(async () => ({
    ...withoutEffect(position === 0 ? 'bounced' : 'duplicate'),
    statements: position++ === 0 ? [{ sql: "update cursor set position = 2 where name = 'raced' and position = 1", expect: 1 }] : [],
  }))
  const id = await arrive()
  await settledAs({ [id]: 'duplicate' })
})

test('settles a message without content as not understood', async () => {
  const id = await arrive()
  await db.write([{ sql: 'delete from returned_mail_content' }])
  start(async () => withoutEffect('stored')).mailArrived()
  await settledAs({ [id]: 'not_understood' })
})

test('handles mail that does not fit into memory together bit by bit', async () => {
  for (let i = 0; i < 12; i++) await arrive('x'.repeat(2_000_000))
  start(async () => withoutEffect('stored')).mailArrived()
  await expect.poll(async () => Object.values(await results())).toEqual(Array.from({ length: 12 }, () => 'stored'))
})

test('settles one purpose only, so that slow mail of one purpose delays no other', async () => {
  const slow = await arrive('slow', { purpose: 'dmarc_report' })
  const other = await arrive()
  start(async (_, content) =>
    Buffer.from(content).toString() === 'slow' ? new Promise<never>(() => {}) : withoutEffect('stored'),
  ).mailArrived()
  await settledAs({ [slow]: null, [other]: 'stored' })
  const next = await arrive()
  await settledAs({ [slow]: null, [other]: 'stored', [next]: 'stored' })
})

test('a flood of slow mail from one network delays another network by one turn at most', async () => {
  for (let i = 0; i < 20; i++) await arrive('flood')
  await arrive('genuine', { remoteAddress: '192.0.2.2' })
  const taken = await takenInOrder()
  expect(taken.indexOf('genuine')).toBeLessThanOrEqual(2)
})

test('nor does a flood about one account from many networks', async () => {
  await db.write(['flooded', 'genuine'].flatMap(mailOf))
  for (let i = 0; i < 20; i++) await arrive('flood', { remoteAddress: `198.51.100.${i}`, recipientId: 'rcp_flooded' })
  await arrive('genuine', { remoteAddress: '203.0.113.1', recipientId: 'rcp_genuine' })
  const taken = await takenInOrder()
  expect(taken.indexOf('genuine')).toBeLessThanOrEqual(3)
})

test("mail waiting for another try is not read again at every network's turn", async () => {
  let turns = 0
  const counted = returnedMailWith({
    nextSource: (purpose, source) => {
      turns++
      return returnedMail.nextSource(purpose, source)
    },
  })
  let looks = 0
  const handler: ReturnedMailHandler = async (_, content) => {
    looks++
    return { ...withoutEffect('not_sent'), isProvisional: Buffer.from(content).toString() === 'early' }
  }
  for (let i = 0; i < 250; i++) await arrive('early', { remoteAddress: `198.51.100.${i}` })
  const runner = start(handler, { returnedMail: counted })
  runner.mailArrived()
  await expect.poll(() => looks).toBe(250)
  turns = 0
  const next = await arrive('next')
  await expect.poll(async () => (await results())[next]).toBe('not_sent')
  await runner.stop(10_000)
  expect(turns).toBeLessThan(20)
})

/** What all that waits is taken in, where each mail of a flood takes its reader two seconds. */
async function takenInOrder(): Promise<string[]> {
  const taken: string[] = []
  start(async (_, content) => {
    const text = Buffer.from(content).toString()
    taken.push(text)
    if (text === 'flood') clock.advance(2_000)
    return withoutEffect('stored')
  }).mailArrived()
  await expect.poll(() => taken.length).toBe(21)
  return taken
}

const mailOf = (name: string): Statement[] => [
  { sql: "insert into account (id, name, plan, status, created_at) values (:id, :id, 'free', 'active', 0)", params: { id: `acc_${name}` } },
  {
    sql: `insert into message (id, account_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
                               message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
          values (:id, :account, 'api', 0, '', '[]', '[]', '[]', '', '', 0, '7bit', 0, '[]', '{}', 0)`,
    params: { id: `em_${name}`, account: `acc_${name}` },
  },
  {
    sql: `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, expires_at)
          values (:id, :message, :account, 'ann@example.com', 'example.com', 'to', 'delivered', 0)`,
    params: { id: `rcp_${name}`, message: `em_${name}`, account: `acc_${name}` },
  },
]
