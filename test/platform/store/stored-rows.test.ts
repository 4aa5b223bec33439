import { expect, test } from 'vitest'
import { storedRows } from '../../../src/platform/store/stored-rows.ts'
import { testDatabase } from '../../support/test-database.ts'

interface Thing {
  id: string
  readAt: number | null
  isKnown: boolean
}

test('what is inserted is read again', async () => {
  const db = await testDatabase()
  await db.write([{ sql: 'create table thing (id text primary key, read_at bigint, is_known smallint not null)' }])
  const things = storedRows<Thing>('thing')(['id', 'readAt'], ['isKnown'])
  const both: Thing[] = [
    { id: 'a', readAt: null, isKnown: true },
    { id: 'b', readAt: 5, isKnown: false },
  ]
  await db.write(both.map(things.insert))
  expect((await db.read(`select ${things.columns} from thing order by id`)).map(things.read)).toEqual(both)
  expect(things.params(both[0] as Thing)).toEqual({ id: 'a', readAt: null, isKnown: 1 })
})

test('a member that is not named, or of another kind, is a type error', () => {
  // @ts-expect-error readAt is missing
  storedRows<Thing>('thing')(['id'], ['isKnown'])
  // @ts-expect-error id is neither true nor false
  storedRows<Thing>('thing')(['readAt'], ['isKnown', 'id'])
  expect(storedRows<Thing>('thing')(['id', 'readAt'], ['isKnown']).columns).toBe('id, read_at, is_known')
})
