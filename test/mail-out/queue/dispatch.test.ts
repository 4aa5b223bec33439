import { aloneAs } from '../../../src/platform/store/only-node.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  unconnectedAttempt,
  type Attempt,
  type ContentSupply,
  type DeliveryJob,
  type Outcome,
  type Postponed,
} from '../../../src/mail-out/delivery/attempt.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { metricsOf } from '../../../src/platform/metrics/metrics.ts'
import { ContentBudget } from '../../../src/mail-out/queue/content-budget.ts'
import { Dispatch, type DispatchServices } from '../../../src/mail-out/queue/dispatch.ts'
import type { NewRecipient } from '../../../src/mail-out/queue/queue-store.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { Claims } from '../../../src/platform/store/claims.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { plainEnvelope } from '../../support/plain-envelope.ts'
import { eventTypes, insertAccount, insertQueued, recipientRows, takeInHand, type Message } from '../../support/queued-mail.ts'
import { settableClock, type SettableClock } from '../../support/settable-clock.ts'
import { testReprieve } from '../../support/test-reprieve.ts'
import { testDatabase } from '../../support/test-database.ts'

const minute = 60_000
const owner = 'boot_1'

const claimsOf = (self: string): Claims => {
  const nodes = aloneAs(self)
  return new Claims({
    db,
    clock,
    log: silentLog,
    nodes,
    table: 'recipient',
    what: 'due mail',
    fields: () => ({}),
    onDue() {},
    onFreed() {},
  })
}
const taken: Outcome = { type: 'delivered', reply: { code: 250, enhancedStatus: null, text: 'Ok' } }
const backoff = { key: 'mx', forMs: 5_000, reason: 'refused' }

let db: Database
let clock: SettableClock
let jobs: DeliveryJob[]
/** What the dispatch told of its recipients. */
let heard: [destination: string, result: Attempt | Postponed][]
let settled: { forwardPath: string; dueAt: number | null; isTried: boolean }[]

beforeEach(async () => {
  db = await testDatabase()
  clock = settableClock()
  jobs = []
  heard = []
  settled = []
  await insertAccount(db)
})

type OnAttempt = (result: Attempt | Postponed) => void
type Deliver = (job: DeliveryJob, onAttempt: OnAttempt, supply: ContentSupply) => void

const takeAll: Deliver = (job, onAttempt) => {
  for (const { id } of job.recipients) onAttempt(unconnectedAttempt(id, taken))
}

function dispatchOver(
  deliver: Deliver = takeAll,
  envelopeFor: DispatchServices['envelopeFor'] = () => plainEnvelope,
  caughtUp = () => aloneWithChanges.caughtUp(),
): Dispatch {
  return new Dispatch({
    db,
    clock,
    changes: { caughtUp },
    log: silentLog,
    metrics: metricsOf(),
    envelopeFor,
    async deliver(job, onAttempt, supply) {
      jobs.push(job)
      deliver(job, onAttempt, supply)
    },
    choicesFor: () => null,
    isResolverSuspect: () => false,
    reprieve: testReprieve(db, clock),
    policies: accountPolicies(db),
    random: () => 0,
    claims: claimsOf(owner),
    contentRoom: new ContentBudget(),
    onAttempt: ({ destination }, result) => heard.push([destination, result]),
    onSettled: ({ forwardPath }, dueAt, isTried) => settled.push({ forwardPath, dueAt, isTried }),
  })
}

const inHand = async (recipients: Partial<NewRecipient>[] = [{}], message: Message = {}) =>
  takeInHand(db, await insertQueued(db, clock.now(), message, recipients), { owner, now: clock.now() })

/** Has a message delivered, once `before` is done. */
async function deliver(
  dispatch: Dispatch,
  { recipients, message, before }: { recipients?: Partial<NewRecipient>[]; message?: Message; before?: () => Promise<unknown> } = {},
): Promise<void> {
  const mail = await inHand(recipients, message)
  await before?.()
  const bytes = Buffer.from('Hello')
  const content = { size: bytes.length, along: bytes, read: async () => bytes }
  await dispatch.deliver(mail.message, mail.recipients, { content, isProbe: false })
}

const at = (name: string, localPart = 'ann') => ({ forward_path: `${localPart}@${name}`, destination: name })

describe('jobs', () => {
  test('have up to ten recipients at one destination', async () => {
    const many = Array.from({ length: 12 }, (_, i) => at('many.example', `u${i}`))
    await deliver(dispatchOver(), { recipients: [...many, at('one.example')] })
    expect(jobs.map(({ destination, recipients }) => [destination, recipients.length])).toEqual([
      ['many.example', 10],
      ['many.example', 2],
      ['one.example', 1],
    ])
    const delivered = { state: 'delivered', owner: null, attempts: 1 }
    expect(await recipientRows(db, 'state, owner, attempts')).toEqual(Array.from({ length: 13 }, () => delivered))
    expect([heard.length, settled.length]).toEqual([13, 13])
  })

  test('have all name servers asked where they have said once that there is nowhere to go', async () => {
    const dispatch = dispatchOver()
    const { message, recipients } = await inHand([at('known.example'), at('gone.example')])
    for (const recipient of recipients) if (recipient.destination === 'gone.example') recipient.nxdomainSince = clock.now() - minute
    const content = { size: 5, along: null, read: async () => Buffer.from('Hello') }
    await dispatch.deliver(message, recipients, { content, isProbe: true })
    expect(jobs.map(({ destination, isSecondLook, isProbe, content }) => ({ destination, isSecondLook, isProbe, content }))).toEqual([
      { destination: 'known.example', isSecondLook: false, isProbe: true, content: 'on request' },
      { destination: 'gone.example', isSecondLook: true, isProbe: true, content: 'on request' },
    ])
  })

  test('get no content after they have ended', async () => {
    let supply: ContentSupply | undefined
    const dispatch = dispatchOver((job, onAttempt, given) => {
      supply = given
      takeAll(job, onAttempt, given)
    })
    await deliver(dispatch)
    expect(await supply?.take()).toBeNull()
  })
})

describe('the simulator', () => {
  test('gets all mail of the sandbox', async () => {
    await deliver(dispatchOver(), { message: { sandbox: true }, recipients: [at('rcpt.example'), at('simulator.test', 'bounced')] })
    expect(jobs).toEqual([])
    expect(await recipientRows(db, 'forward_path, state')).toEqual([
      { forward_path: 'ann@rcpt.example', state: 'delivered' },
      { forward_path: 'bounced@simulator.test', state: 'bounced' },
    ])
  })

  test('gets its own recipients of live mail, which react at once', async () => {
    await deliver(dispatchOver(), { recipients: [at('simulator.test', 'opened'), at('rcpt.example')] })
    expect(jobs.map(({ destination }) => destination)).toEqual(['rcpt.example'])
    expect((await eventTypes(db)).toSorted()).toEqual(['email.delivered', 'email.delivered', 'email.opened', 'email.sent', 'email.sent'])
  })
})

describe('mail that cannot be signed', () => {
  test.each<[string, DispatchServices['envelopeFor'], RegExp]>([
    ['its domain is gone', () => null, /^The sending domain has been removed/],
    [
      'its key cannot be read',
      () => {
        throw new Error('The key file is damaged.')
      },
      /^The message cannot be signed\. The key file is damaged\.$/,
    ],
  ])('waits where %s', async (_, envelopeFor, reason) => {
    await deliver(dispatchOver(takeAll, envelopeFor))
    expect(jobs).toEqual([])
    expect(await recipientRows(db, 'state, last_response, due_at')).toEqual([
      { state: 'deferred', last_response: expect.stringMatching(reason), due_at: clock.now() + minute },
    ])
  })

  test('goes out if its domain is one that another node has just made known', async () => {
    let isKnown = false
    const caughtUp = async (): Promise<boolean> => (isKnown = true)
    await deliver(dispatchOver(takeAll, () => (isKnown ? plainEnvelope : null), caughtUp))
    expect(await recipientRows(db, 'state')).toEqual([{ state: 'delivered' }])
  })

  test('of the sandbox needs no signature', async () => {
    await deliver(
      dispatchOver(takeAll, () => null),
      { message: { sandbox: true } },
    )
    expect(await recipientRows(db, 'state')).toEqual([{ state: 'delivered' }])
  })
})

describe('a recipient', () => {
  test('that delivery says nothing of is due again in five seconds, untried', async () => {
    await deliver(dispatchOver(() => {}))
    const dueAt = clock.now() + 5_000
    expect(await recipientRows(db, 'state, due_at, owner, attempts')).toEqual([
      { state: 'queued', due_at: dueAt, owner: null, attempts: 0 },
    ])
    expect(settled).toEqual([{ forwardPath: 'ann@rcpt.example', dueAt, isTried: false }])
    expect(heard).toEqual([])
  })

  test('whose host rests is as long due as before', async () => {
    const dispatch = dispatchOver((job, onAttempt) => {
      for (const { id } of job.recipients) onAttempt({ recipientId: id, postponed: true, backoff })
    })
    const dueAt = clock.now() - minute
    await deliver(dispatch, { recipients: [{ due_at: dueAt }] })
    expect(await recipientRows(db, 'state, due_at, owner, attempts')).toEqual([
      { state: 'queued', due_at: dueAt, owner: null, attempts: 0 },
    ])
    expect(settled).toEqual([{ forwardPath: 'ann@rcpt.example', dueAt, isTried: false }])
    expect(heard).toEqual([['rcpt.example', expect.objectContaining({ backoff })]])
  })

  test('that is reported twice is settled once, by the first report', async () => {
    const later: Outcome = { type: 'deferred', reply: null, category: 'timeout', reason: '4.4.2 timeout' }
    const dispatch = dispatchOver((job, onAttempt, supply) => {
      takeAll(job, onAttempt, supply)
      for (const { id } of job.recipients) onAttempt(unconnectedAttempt(id, later))
    })
    await deliver(dispatch)
    expect(await recipientRows(db, 'state, attempts')).toEqual([{ state: 'delivered', attempts: 1 }])
    expect(settled).toHaveLength(1)
  })

  test('that somebody else has moved keeps what that came to, and its room is free', async () => {
    const before = () => db.write([{ sql: `update recipient set owner = 'boot_2'` }])
    await deliver(dispatchOver(), { before })
    expect(await recipientRows(db, 'state, owner, attempts')).toEqual([{ state: 'queued', owner: 'boot_2', attempts: 0 }])
    expect(await eventTypes(db)).toEqual([])
    expect(settled).toHaveLength(1)
  })
})

test('a job that fails is deferred, and only what it had not reported', async () => {
  const dispatch = dispatchOver((job, onAttempt) => {
    onAttempt(unconnectedAttempt(job.recipients[0]!.id, taken))
    if (job.destination === 'rcpt.example') throw new Error('oops')
  })
  await deliver(dispatch, { recipients: [at('rcpt.example', 'a'), at('rcpt.example', 'b'), at('other.example')] })
  expect(await recipientRows(db, 'state, last_response')).toEqual([
    { state: 'delivered', last_response: '250 Ok' },
    { state: 'deferred', last_response: '4.3.0 an error of this server: oops' },
    { state: 'delivered', last_response: '250 Ok' },
  ])
})

test.each([
  ['held for an hour', 'suspended', 60 * minute, /suspended/],
  ['tried again soon where the account is active by now', 'active', 5_000, null],
])('scheduled mail of a suspended account is %s', async (_, status, inMs, reason) => {
  await db.write([{ sql: `update account set status = :status where id = 'acc_1'`, params: { status } }])
  const { message, recipients } = await inHand([{}], { scheduledAt: clock.now() })
  await dispatchOver().holdSuspended(message, recipients[0]!, recipients[0]!.expiresAt)
  const dueAt = clock.now() + inMs
  expect(await recipientRows(db, 'due_at, owner, last_response')).toEqual([
    { due_at: dueAt, owner: null, last_response: reason === null ? null : expect.stringMatching(reason) },
  ])
  expect(settled).toEqual([{ forwardPath: 'ann@rcpt.example', dueAt, isTried: false }])
})
