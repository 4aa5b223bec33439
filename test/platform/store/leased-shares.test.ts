import { expect, onTestFinished, test } from 'vitest'
import { silentLog } from '../../../src/platform/log.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { LeasedShares } from '../../../src/platform/store/leased-shares.ts'
import type { LimitWindows } from '../../../src/platform/store/limit-shares.ts'
import { leasedNode, pass, type TestNode } from '../../support/leased-node.ts'
import { testDatabase } from '../../support/test-database.ts'

const windowMs = 60_000

interface Limited {
  node: TestNode
  windows: LimitWindows
  /** True if others have buried it: it writes nothing more. */
  isFenced: boolean
  /** How many of so many at once are let through. */
  take(count: number, limit: number): Promise<number>
}

async function limited(db: Database): Promise<Limited> {
  const node = await leasedNode(db)
  const write: Database['write'] = (batch) => (of.isFenced ? Promise.reject(new Error('fenced')) : db.write(batch))
  const shares = new LeasedShares({ db: { write }, clock: node.clock })
  shares.join(node.nodes)
  const windows = shares.windows('requests', { windowMs, isKept: true })
  await windows.start(silentLog)
  onTestFinished(() => windows.stop())
  const take = async (count: number, limit: number): Promise<number> => {
    const taken = await Promise.all(Array.from({ length: count }, async () => windows.of('acc_1').take(limit)))
    return taken.filter(Boolean).length
  }
  const of: Limited = { node, windows, take, isFenced: false }
  return of
}

async function two() {
  const db = await testDatabase()
  const [a, b] = [await limited(db), await limited(db)]
  /** Lets seconds pass until what was told is written. */
  const seconds = async (count: number, ...of: Limited[]) => {
    for (let second = 0; second < count; second++) {
      await pass(1, ...of.map(({ node }) => node))
      await db.write([])
    }
  }
  const rows = () => db.read('select node, share, used from limit_share order by node')
  return { db, a, b, seconds, rows }
}

test('two nodes let through exactly the limit, whoever asks first', async () => {
  const { a, b } = await two()
  let sum = 0
  for (let round = 0; round < 100; round++) sum += (await a.take(1, 100)) + (await b.take(1, 100))
  expect(sum).toBe(100)
})

test('of many at once, too', async () => {
  const { a, b, seconds } = await two()
  let sum = 0
  for (let round = 0; round < 5; round++) {
    const [atA, atB] = await Promise.all([a.take(40, 100), b.take(40, 100)])
    sum += atA + atB
    await seconds(1, a, b)
  }
  expect(sum).toBe(100)
})

test('a node that is asked for nothing leaves its share to the other within two seconds', async () => {
  const { a, b, seconds } = await two()
  expect(await a.take(1, 100)).toBe(1)
  const first = await b.take(100, 100)
  expect(first).toBeLessThan(100)
  await seconds(2, a, b)
  expect(first + (await b.take(100, 100))).toBe(99)
})

test('the time after a use is over, there is one more, at whichever node', async () => {
  const { a, b, seconds } = await two()
  expect(await a.take(20, 10)).toBe(10)
  await seconds(30, a, b)
  expect(await b.take(1, 10)).toBe(0)
  expect(b.windows.of('acc_1').untilNext(10)).toBe(30_000)
  await seconds(32, a, b)
  expect(await b.take(20, 10)).toBe(10)
  expect(await a.take(1, 10)).toBe(0)
})

test('both know what remains in the sum, and forget what is over', async () => {
  const { a, b, seconds, rows } = await two()
  await a.take(30, 100)
  await b.take(20, 100)
  await seconds(2, a, b)
  expect([a, b].map(({ windows }) => windows.of('acc_1').remaining(100))).toEqual([50, 50])
  await seconds(62, a, b)
  expect([a, b].map(({ windows }) => windows.of('acc_1').remaining(100))).toEqual([100, 100])
  expect(await rows()).toEqual([])
})

test('what a node had when it died counts until it may be over, and not longer', async () => {
  const { a, b, seconds } = await two()
  await seconds(1, a, b)
  expect(await a.take(8, 10)).toBe(8)
  await seconds(2, a, b)
  await seconds(7, b)
  expect(b.node.nodes.live()).toEqual([b.node.nodes.self])
  expect(await b.take(10, 10)).toBe(2)
  await seconds(50, b)
  expect(await b.take(10, 10)).toBe(0)
  await seconds(70, b)
  expect(await b.take(20, 10)).toBe(10)
})

test('a node that stops leaves at once what it has not used', async () => {
  const { a, b, seconds } = await two()
  expect(await a.take(3, 100)).toBe(3)
  await a.windows.stop()
  await a.node.nodes.leave()
  await seconds(1, b)
  expect(await b.take(100, 100)).toBe(97)
})

test('a node that cannot write lets through what it has, and after a minute nothing, because that may be counted as over', async () => {
  const { a } = await two()
  expect(await a.take(1, 100)).toBe(1)
  a.isFenced = true
  a.node.clock.advance(30_000)
  expect(await a.take(1, 100)).toBe(1)
  a.node.clock.advance(31_000)
  await expect(a.take(1, 100)).rejects.toThrow('fenced')
})

test('an outage while a share is left to the others keeps nothing from anybody', async () => {
  const { a, b, seconds, rows } = await two()
  expect(await a.take(100, 100)).toBe(100)
  a.isFenced = true
  await seconds(70, a, b)
  a.isFenced = false
  await seconds(2, a, b)
  expect(await rows()).toEqual([])
  expect(await b.take(100, 100)).toBeGreaterThan(0)
})

test('several are taken together or not at all, also where that takes more than a piece', async () => {
  const { a, b } = await two()
  const takeTogether = async ({ windows }: Limited, count: number): Promise<boolean> => windows.of('acc_1').take(60, count)
  expect(await b.take(20, 60)).toBe(20)
  expect(await takeTogether(a, 61)).toBe(false)
  expect(await takeTogether(a, 36)).toBe(true)
  expect(await takeTogether(a, 5)).toBe(false)
  expect((await a.take(10, 60)) + (await b.take(10, 60))).toBe(4)
})
