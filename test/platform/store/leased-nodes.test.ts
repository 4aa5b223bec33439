import { beforeEach, expect, test } from 'vitest'
import { recordEvent } from '../../../src/mail/event/event-log.ts'
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

test('a command is a node that others do not share limits with, as long as it runs and when it has ended', async () => {
  const lone = await leasedNode(db)
  const command = await leasedNode(db, { serves: false, isWatching: false })
  await pass(2, lone, command)
  expect([lone.nodes.live(), command.nodes.live()]).toEqual([[lone.nodes.self], [command.nodes.self, lone.nodes.self].toSorted()])
  expect(lone.nodes.parts.of(20)).toBe(20)
  expect(await rows()).toHaveLength(2)
  // What it has in hand is taken over as from any other.
  const freed = await inHand(command, lone)
  await pass(7, lone)
  expect([await rows(), await owners(), freed()]).toEqual([[lone.nodes.self], [null], 1])
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

/** A duty as a node would have it: how often it began and ended there. */
async function dutyAt({ nodes }: TestNode, name = 'sweeping', fails = () => false) {
  const does = { begun: 0, ended: 0, isBusy: () => does.begun > does.ended, end: async () => {} }
  const end = await nodes.duty(name, async () => {
    if (fails()) throw new Error('not here')
    does.begun++
    return () => void does.ended++
  })
  does.end = async () => void (await end())
  return does
}

test('one node does a duty; after its death another has it within ten seconds, after its stop within one', async () => {
  const [a, b, c] = (await joined(3)) as [TestNode, TestNode, TestNode]
  const duties = await Promise.all([a, b, c].map((node) => dutyAt(node)))
  const busy = () => duties.map((duty) => duty.isBusy())
  await pass(1, a)
  await pass(5, a, b, c)
  expect(busy()).toEqual([true, false, false])
  await pass(1, b)
  await pass(8, b, c)
  expect(busy().slice(1)).toEqual([true, false])
  await duties[1]?.end()
  await b.nodes.leave()
  await pass(2, c)
  expect(duties.map(({ begun, ended }) => [begun, ended])).toEqual([
    [1, 0],
    [1, 1],
    [1, 0],
  ])
})

test('a node that cannot begin a duty leaves it to one that can, and tries again', async () => {
  const [a, b] = await joined(2)
  let isBroken = true
  const at = { a: await dutyAt(a, 'sweeping', () => isBroken), b: await dutyAt(b) }
  await pass(2, a)
  await pass(3, b, a)
  expect([at.a.begun, at.b.isBusy()]).toEqual([0, true])
  isBroken = false
  await at.b.end()
  await b.nodes.leave()
  await pass(12, a)
  expect([at.a.isBusy(), at.b.isBusy()]).toEqual([true, false])
})

test('each duty is done by one node, and none by one that has not started', async () => {
  const [a, b] = await joined(2)
  const before = await dutyAt(a, 'at a')
  const other = await dutyAt(b, 'at b')
  await pass(2, a, b)
  expect([before.isBusy(), other.isBusy()]).toEqual([true, true])
  const late = await leasedNode(db, { isWatching: false })
  const waiting = await dutyAt(late, 'at the third')
  await pass(3, a, b, late)
  expect(waiting.begun).toBe(0)
  await late.nodes.watch()
  expect(waiting.begun).toBe(1)
})

test('a node hears of the events of others within a second, and once', async () => {
  const [a, b] = await joined(2)
  await insertAccount(db)
  await pass(2, a, b)
  const before = b.heard.length
  const subject = { accountId: 'acc_1', messageId: 'em_1', recipientId: 'rcp_1', to: 'a@b.example', subject: '', sandbox: false }
  await db.write([recordEvent(subject, 'email.delivered', { delivered_at: '' }, 0)])
  await pass(1, b)
  expect(b.heard.length - before).toBe(1)
  await pass(3, b)
  expect(b.heard.length - before).toBe(1)
})

test('a limit is divided by the nodes that live, from the start of one to the burial of another', async () => {
  const [a, b] = await joined(2)
  await pass(1, a)
  const c = await leasedNode(db)
  const partsOf = (limit: number) => [a, b, c].map(({ nodes }) => nodes.parts.of(limit))
  expect(c.nodes.parts.of(20)).toBe(6)
  await pass(1, a, b, c)
  expect([partsOf(20), partsOf(2)]).toEqual([
    [6, 6, 6],
    [1, 1, 1],
  ])
  await pass(6, a, c)
  expect([a, c].map(({ nodes }) => nodes.parts.of(20))).toEqual([10, 10])
  await c.nodes.leave()
  await pass(1, a)
  expect(a.nodes.parts.of(20)).toBe(20)
})
