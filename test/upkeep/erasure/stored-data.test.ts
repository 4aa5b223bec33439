import { expect, test } from 'vitest'
import { columnsIn, storedTables } from '../../../src/upkeep/erasure/stored-data.ts'
import { testDatabase } from '../../support/test-database.ts'

test('every column is declared with whether it may hold an address or words of mail', async () => {
  const db = await testDatabase()
  const tables = await db.slowRead<{ name: string }>("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
  const schema: Record<string, string[]> = {}
  for (const { name } of tables) {
    const columns = await db.slowRead<{ name: string }>(`select name from pragma_table_info('${name}')`)
    schema[name] = columns.map((column) => column.name).toSorted()
  }
  const declared = Object.entries(storedTables).map(([name, { erased, users, none }]) => [
    name,
    [erased, users, none].flatMap(columnsIn).toSorted(),
  ])
  expect(Object.fromEntries(declared)).toEqual(schema)
})
