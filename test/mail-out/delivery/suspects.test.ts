import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { unconnectedAttempt, type Attempt, type DeliveryJob, type Postponed } from '../../../src/mail-out/delivery/attempt.ts'
import { Suspects, type OnCrash, type OpenJob } from '../../../src/mail-out/delivery/suspects.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { jobOf, noSupply } from '../../support/delivery-fixture.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** What jobs come to is the test's to say: each is in `inHand` until it ends. */
function startSuspects() {
  const inHand: OpenJob[] = []
  let crash: OnCrash = () => {}
  let running = 0
  const suspects = new Suspects((onCrash) => {
    crash = onCrash
    running++
    return {
      deliver: (job, onAttempt, supply) =>
        new Promise((done) => inHand.push({ job, open: new Set(job.recipients.map(({ id }) => id)), onAttempt, supply, done })),
      tell: () => {},
      stop: async () => void running--,
    }
  }, silentLog)
  return {
    suspects,
    running: () => running,
    names: () => inHand.map(({ job }) => job.messageId),
    end: async (name: string, result: (id: string) => Attempt | Postponed) => {
      const [ended] = inHand.splice(
        inHand.findIndex(({ job }) => job.messageId === name),
        1,
      )
      for (const id of ended?.open ?? []) ended?.onAttempt(result(id))
      ended?.done()
      await vi.advanceTimersByTimeAsync(0)
    },
    crash: async () => {
      crash(inHand.splice(0), 'oops')
      await vi.advanceTimersByTimeAsync(0)
    },
  }
}

const delivered = (id: string): Attempt =>
  unconnectedAttempt(id, { type: 'delivered', reply: { code: 250, enhancedStatus: null, text: 'Ok' } })
const postponed = (recipientId: string): Postponed => ({ recipientId, postponed: true })
const named = (name: string): DeliveryJob => {
  const job = jobOf()
  return { ...job, messageId: name, recipients: job.recipients.map((recipient) => ({ ...recipient, id: name })) }
}

function suspect(suspects: Suspects, names: string[]): void {
  suspects.onCrash(
    names.map((name) => ({ job: named(name), open: new Set([name]), onAttempt: () => {}, supply: noSupply, done: () => {} })),
    'oops',
  )
}

function deliver(suspects: Suspects, name: string): (Attempt | Postponed)[] {
  const results: (Attempt | Postponed)[] = []
  void suspects.deliver(named(name), (result) => results.push(result), noSupply)
  return results
}

test('suspects are alone one after the other, and whoever ends is no suspect any more', async () => {
  const { suspects, names, end, running } = startSuspects()
  suspect(suspects, ['a', 'b', 'c'])
  for (const name of ['a', 'b', 'c']) deliver(suspects, name)
  expect(names()).toEqual(['a'])
  await end('a', delivered)
  expect(names()).toEqual(['b'])
  await end('b', postponed)
  await end('c', delivered)
  expect(['a', 'b', 'c', 'd'].map((name) => suspects.has(named(name)))).toEqual([false, true, false, false])
  deliver(suspects, 'b')
  expect(running()).toBe(1)
  await end('b', delivered)
  expect([suspects.has(named('b')), running()]).toEqual([false, 0])
})

test('who crashes the thread alone is the cause, and stays apart', async () => {
  const { suspects, crash } = startSuspects()
  suspect(suspects, ['a', 'b'])
  const results = deliver(suspects, 'a')
  await crash()
  expect(results).toMatchObject([{ outcome: { type: 'deferred', reason: expect.stringContaining('oops') } }])
  expect(suspects.has(named('a'))).toBe(true)
})

test('nobody waits for long for a host that hangs; and where several were there, none is the cause', async () => {
  const { suspects, names, crash } = startSuspects()
  suspect(suspects, ['hangs', 'b'])
  const results = [deliver(suspects, 'hangs'), deliver(suspects, 'b')]
  await vi.advanceTimersByTimeAsync(9_999)
  expect(names()).toEqual(['hangs'])
  await vi.advanceTimersByTimeAsync(1)
  expect(names()).toEqual(['hangs', 'b'])
  await crash()
  expect(results).toEqual([[postponed('hangs')], [postponed('b')]])
  expect(['hangs', 'b'].map((name) => suspects.has(named(name)))).toEqual([true, true])
})

test('more than may wait come again later, and so do all that wait at a stop', async () => {
  const { suspects, names } = startSuspects()
  const all = Array.from({ length: 102 }, (_, i) => `s${i}`)
  suspect(suspects, all)
  const results = all.map((name) => deliver(suspects, name))
  expect(names()).toEqual(['s0'])
  expect(results.findIndex(({ length }) => length > 0)).toBe(101)
  await suspects.stop(0)
  expect(results.slice(1).every(([result]) => result && 'postponed' in result)).toBe(true)
})
