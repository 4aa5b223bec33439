import { expect, test } from 'vitest'
import { columnsIn, storedTables } from '../../../src/upkeep/erasure/stored-data.ts'
import { columnsByTable } from '../../support/columns-by-table.ts'
import { testDatabase } from '../../support/test-database.ts'

test('every column is declared with whether it may hold an address or words of mail', async () => {
  const db = await testDatabase()
  const declared = Object.entries(storedTables).map(([name, { erased, users, none }]) => [
    name,
    [erased, users, none].flatMap(columnsIn).toSorted(),
  ])
  expect(Object.fromEntries(declared)).toEqual(await columnsByTable(db))
})
