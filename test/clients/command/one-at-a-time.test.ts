import { expect, test } from 'vitest'
import { oneAtATime } from '../../../src/clients/command/one-at-a-time.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { testDatabase } from '../../support/test-database.ts'

const services = (db: Pick<Database, 'read' | 'write'>) => ({
  db: db as Database,
  changes: aloneWithChanges,
  log: silentLog,
  owner: 'node_a',
})

test('one whose end cannot be written at once makes way for the next as soon as it can', async () => {
  const db = await testDatabase()
  await db.write([{ sql: "insert into node (name, started_at) values ('node_a', 0)" }])
  let failures = 0
  const failing: typeof db.write = (batch, ...rest) => {
    if (!batch[0]?.sql.startsWith('update duty') || failures === 2) return db.write(batch, ...rest)
    failures++
    return Promise.reject(new Error('the connection was lost'))
  }
  expect(await oneAtATime(services({ ...db, write: failing }), async () => 'done')).toBe('done')
  await expect(oneAtATime(services(db), async () => 'too early')).rejects.toThrow('is under way')
  await expect.poll(() => oneAtATime(services(db), async () => 'next').catch(() => null)).toBe('next')
  expect(failures).toBe(2)
})
