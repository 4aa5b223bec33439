import { expect, test } from 'vitest'
import { noteMachine, thisMachine, type Machine } from '../../src/upkeep/machine-change.ts'
import { silentLog } from '../../src/platform/log.ts'
import { testDatabase } from '../support/test-database.ts'

const first: Machine = { id: 'a', addresses: ['192.0.2.1', '2001:db8::1', 'fe80::1'] }

/** How many warnings a start on each of these machines logs, one after the other. */
async function warnings(...machines: Machine[]): Promise<number[]> {
  const db = await testDatabase()
  await db.write([{ sql: `insert into last_place (id, lock_file, database_file) values (1, '1:1:1', '2:2:2')` }])
  const told: number[] = []
  for (const machine of machines) {
    let warned = 0
    const log = Object.assign(Object.create(silentLog) as typeof silentLog, { warn: () => void warned++ })
    await noteMachine({ db, log }, machine)
    told.push(warned)
  }
  return told
}

test.each<[string, Machine, number]>([
  ['the same machine', first, 0],
  ['one address fewer', { id: 'a', addresses: ['192.0.2.1'] }, 0],
  ['no network at the start', { id: 'a', addresses: [] }, 0],
  ['a clone with an id of its own', { id: 'b', addresses: first.addresses }, 1],
  ['a clone with other addresses', { id: 'a', addresses: ['192.0.2.7', 'fe80::1'] }, 1],
])('%s', async (_, second, expected) => {
  expect(await warnings(first, second, second)).toEqual([0, expected, 0])
})

test('a container has another private address with each start, which means nothing', async () => {
  const at = (...addresses: string[]): Machine => ({ id: null, addresses })
  expect(await warnings(at('172.17.0.2'), at('172.17.0.3'), at('8.8.8.8'), at('172.17.0.4', '8.8.4.4'))).toEqual([0, 0, 0, 1])
})

test('this machine can be read', () => {
  expect(thisMachine()).toMatchObject({ addresses: expect.any(Array) })
})
