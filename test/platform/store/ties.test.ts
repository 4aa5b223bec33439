import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sqlLiterals } from '../../support/sql-literals.ts'

/**
 * Claims of mail: a sort by id as well would read all that is due at the same time. The index of SQLite has those in the order in which they
 * were inserted, which is that of ids, and PostgreSQL is told to sort.
 */
const claims = [
  /^mail-out\/queue\/queue-store.ts: update recipient set owner = :owner.* order by due_at limit :limit offset :skip\) and owner is null/,
  /^mail-out\/queue\/queue-store.ts: select due_at from recipient .* order by due_at limit 1/,
  /^mail-out\/queue\/queue-store.ts: update recipient set owner = :owner.* order by expires_at limit :limit offset :skip\) and owner is null/,
]

test('no statement takes the first of rows that only a time puts in order: engines would take different ones', () => {
  const names = sqlLiterals(join(import.meta.dirname, '../../../src')).map(({ name }) => name)
  expect(names.filter((name) => / limit\b/.test(name)).length).toBeGreaterThan(40)
  const byTime = names.filter((name) => /_at(?: asc| desc)?(?: nulls (?:first|last))? limit\b/.test(name) && /order by/.test(name))
  expect(byTime.filter((name) => !claims.some((claim) => claim.test(name)))).toEqual([])
  expect(byTime).toHaveLength(claims.length)
})
