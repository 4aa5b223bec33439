import { beforeEach, expect, test } from 'vitest'
import { BuriedError, type SharedSettings } from '../../../src/platform/store/nodes.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { listNodes, reportNode } from '../../../src/platform/store/node-rows.ts'
import { leasedNode, pass, whileTimePasses, type TestNode } from '../../support/leased-node.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

let db: Database

beforeEach(async () => {
  db = await testDatabase()
})

/** Joins while time passes for it, and for these nodes. */
function joinedBeside(living: TestNode[], settings: Partial<SharedSettings>): Promise<TestNode> {
  const clock = settableClock()
  return whileTimePasses(db, [clock, ...living.map((node) => node.clock)], leasedNode(db, { settings, clock }))
}

test.each([
  ['hostname', { hostname: 'other.example' }, 'hostname is other.example here, and mail.example there'],
  ['mode', { mode: 'sandbox' }, 'mode is sandbox here, and live there'],
  ['base_url', { baseUrl: 'https://other.example' }, 'base_url is https://other.example here, and https://mail.example there'],
  ['return path', { returnPathDomain: 'bounces.example' }, 'return_path.domain is bounces.example here, and mail.example there'],
])('a node with another %s than one that lives does not join, and is told which', async (_, settings, words) => {
  const living = await leasedNode(db)
  const refused = await joinedBeside([living], settings).catch((error: Error) => error)
  expect(refused).toMatchObject({ code: 'configuration', message: expect.stringContaining(words) })
  expect(refused).toMatchObject({ message: expect.stringContaining(`${living.nodes.self} on here`) })
  await pass(2, living)
  expect([living.nodes.live(), living.buried]).toEqual([[living.nodes.self], null])
})

test('of two that join at once with different settings, one is refused', async () => {
  const clocks = [settableClock(), settableClock()]
  const joining = clocks.map((clock, i) => leasedNode(db, { settings: { mode: i === 0 ? 'live' : 'sandbox' }, clock }))
  const joined = await whileTimePasses(db, clocks, Promise.allSettled(joining))
  expect(joined.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})

test('what a dead node has in its row does not count, and it ends if it wakes', async () => {
  const dead = await leasedNode(db)
  await pass(2, dead)
  const next = await joinedBeside([], { hostname: 'new.example' })
  await pass(1, dead)
  expect(dead.buried).toBeInstanceOf(BuriedError)
  await pass(7, next)
  expect((await listNodes({ db, clock: next.clock })).map(({ id }) => id)).toEqual([next.nodes.self])
})

test('a node of a program that did not tell its settings is no reason to refuse another', async () => {
  const older = await leasedNode(db)
  await db.write([{ sql: 'update node set mode = null, hostname = null, base_url = null, return_path_domain = null' }])
  const newer = await leasedNode(db, { settings: { hostname: 'new.example' } })
  await pass(2, older, newer)
  expect(older.nodes.live()).toHaveLength(2)
})

test('what a node tells of itself is listed, with when it last said that it lives', async () => {
  const node = await leasedNode(db)
  const fault = { name: 'backup', message: 'The last one failed.', since: '2026-01-01T00:00:00.000Z' }
  await db.write([reportNode(node.nodes.self, { addresses: ['192.0.2.1'], faults: [fault] }, node.clock.now())])
  await pass(1, node)
  const { self: id } = node.nodes
  const startedAt = node.clock.now() - 1_000
  expect(await listNodes({ db, clock: node.clock })).toEqual([
    { id, machine: 'here', version: '1', startedAt, heardAt: node.clock.now(), addresses: ['192.0.2.1'], faults: [fault] },
  ])
  // It died, and nobody was there to bury it.
  expect(await listNodes({ db, clock: settableClock(node.clock.now() + 180_001) })).toEqual([])
})
