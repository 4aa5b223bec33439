import { beforeEach, expect, test } from 'vitest'
import type { Database } from '../../../src/platform/store/database.ts'
import { BuriedError } from '../../../src/platform/store/nodes.ts'
import { leasedNode, pass, passCutOff, type TestNode } from '../../support/leased-node.ts'
import { insertAccount, insertQueued } from '../../support/queued-mail.ts'
import { testDatabase } from '../../support/test-database.ts'

let db: Database

beforeEach(async () => {
  db = await testDatabase()
})

const rows = async () => (await db.read<{ name: string }>('select name from node order by name')).map(({ name }) => name)
const owners = async () => (await db.read<{ owner: string | null }>('select owner from recipient')).map(({ owner }) => owner)

/** A message in hand of a node, freed with it; returns how often the other hears that something was freed. */
async function inHand(of: TestNode, heard: TestNode): Promise<() => number> {
  let freed = 0
  await insertAccount(db)
  await insertQueued(db, 0)
  await db.write([{ sql: 'update recipient set owner = :owner', params: { owner: of.nodes.self } }])
  for (const { nodes } of [of, heard]) {
    nodes.freeBuried({
      free: (node) => [{ sql: 'update recipient set owner = null where owner = :node', params: { node } }],
      onFreed: () => void (nodes === heard.nodes && freed++),
    })
  }
  return () => freed
}

const joined = async (count: number): Promise<[TestNode, TestNode, ...TestNode[]]> => {
  const nodes = await Promise.all(Array.from({ length: count }, () => leasedNode(db)))
  return nodes as [TestNode, TestNode]
}

test('three nodes that start at once all know each other, and live', async () => {
  const nodes = await joined(3)
  await pass(20, ...nodes)
  const names = nodes.map((node) => node.nodes.self).toSorted()
  expect(await rows()).toEqual(names)
  for (const { nodes: each, buried } of nodes) expect([each.live(), buried]).toEqual([names, null])
})

test('a node that is stopped is buried with what it had in hand, and ends when it goes on', async () => {
  const [a, b, c] = (await joined(3)) as [TestNode, TestNode, TestNode]
  const freed = await inHand(a, b)
  await pass(3, a, b, c)
  await pass(4, b, c)
  expect(await owners()).toEqual([a.nodes.self])
  await pass(2, b, c)
  expect([await owners(), await rows(), freed()]).toEqual([[null], [b.nodes.self, c.nodes.self].toSorted(), 1])
  expect(c.nodes.live()).toEqual(b.nodes.live())
  await pass(1, a)
  expect(a.buried).toBeInstanceOf(BuriedError)
  expect(a.buried?.message).toContain(a.nodes.self)
  await pass(3, a, b, c)
  expect([b.buried, c.buried]).toEqual([null, null])
  expect(await rows()).not.toContain(a.nodes.self)
})

test('a node that was stopped for a moment lives on', async () => {
  const [a, b] = await joined(2)
  for (let times = 0; times < 5; times++) {
    await pass(2, a, b)
    await pass(3, b)
  }
  expect([a.buried, b.buried]).toEqual([null, null])
  expect(await rows()).toHaveLength(2)
})

test('a database that answers nobody for 20 s buries nobody', async () => {
  const [a, b] = await joined(2)
  await pass(3, a, b)
  await passCutOff(20, a, b)
  // One of them finds it again some seconds later.
  await pass(3, a)
  await pass(20, a, b)
  expect([a.buried, b.buried, await rows()]).toEqual([null, null, [a.nodes.self, b.nodes.self].toSorted()])
})

test('a node that alone loses the database is buried by the other', async () => {
  const [a, b] = await joined(2)
  const freed = await inHand(a, b)
  await pass(2, a, b)
  a.cutOff(true)
  a.clock.advance(10_000)
  await pass(7, b)
  expect([await owners(), freed()]).toEqual([[null], 1])
  a.cutOff(false)
  await a.idle()
  expect([a.buried, b.buried]).toEqual([expect.any(BuriedError), null])
})

test('a stop hands everything over at once', async () => {
  const [a, b] = await joined(2)
  const freed = await inHand(a, b)
  await pass(2, a, b)
  await a.nodes.leave()
  expect([await owners(), await rows()]).toEqual([[null], [b.nodes.self]])
  await pass(1, b)
  expect([freed(), b.nodes.live()]).toEqual([1, [b.nodes.self]])
})

test('what all nodes left that died together is taken over by the next start', async () => {
  const [a, b] = await joined(2)
  await inHand(a, b)
  await pass(2, a, b)
  const [next] = await joined(1)
  await inHandAlso(next)
  await pass(7, next)
  expect([await owners(), await rows()]).toEqual([[null], [next.nodes.self]])
})

/** What a node registers that has mail of the same kind. */
const inHandAlso = async ({ nodes }: TestNode): Promise<void> =>
  nodes.freeBuried({ free: (node) => [{ sql: 'update recipient set owner = null where owner = :node', params: { node } }] })

test('the lease of a node ends for itself before the others bury it, and lasts while it writes', async () => {
  const [a, b] = await joined(2)
  await pass(10, a, b)
  expect(a.nodes.deadline.isPast).toBe(false)
  a.cutOff(true)
  a.clock.advance(4_000)
  await pass(4, b)
  expect([a.nodes.deadline.isPast, await rows()]).toEqual([false, expect.arrayContaining([a.nodes.self])])
  a.clock.advance(1_000)
  expect([a.nodes.deadline.isPast, await rows()]).toEqual([true, expect.arrayContaining([a.nodes.self])])
  await pass(2, b)
  expect(await rows()).toEqual([b.nodes.self])
})
