import { expect, test } from 'vitest'
import { anyExpired, claimDue, claimExpired, waitingLanes, waitingLanesOf, type Lane } from '../../../src/mail-out/queue/queue-store.ts'
import type { Statement } from '../../../src/platform/store/database.ts'
import { testDatabase } from '../../support/test-database.ts'

const lane: Lane = { destination: 'rcpt.example', account_id: 'acc_1', urgent: 0 }
const range = { owner: 'node_1', now: 0, limit: 64, skip: 0 }

/** How PostgreSQL goes about them at a million rows: test/peer/postgresql.test.ts. */
test('what is claimed is found by an index that begins with its lane, in order, and nothing else of the queue is read', async () => {
  const db = await testDatabase()
  const planOf = async ({ sql, params }: Statement): Promise<string[]> => {
    const rows = await db.slowRead<{ detail: string }>(`explain query plan ${sql}`, params)
    return rows.map(({ detail }) => detail.replace('COVERING ', '')).filter((detail) => !/LIST SUBQUERY/.test(detail))
  }
  const byLane = 'recipient_due (destination=? AND account_id=? AND urgent=?'
  const byId = 'SEARCH recipient USING INDEX sqlite_autoindex_recipient_1 (id=?)'
  const [claim, next] = claimDue(lane, range) as [Statement, Statement]
  expect(await planOf(claim)).toEqual([byId, `SEARCH recipient USING INDEX ${byLane} AND due_at>? AND due_at<?)`])
  expect(await planOf(next)).toEqual([`SEARCH recipient USING INDEX ${byLane} AND due_at>?)`])
  const [expired] = claimExpired(lane.destination, range) as [Statement]
  expect(await planOf(expired)).toEqual([byId, 'SEARCH recipient USING INDEX recipient_expiry (destination=? AND expires_at<?)'])
  const params = { destination: lane.destination, now: 0 }
  expect(await planOf({ sql: anyExpired, params })).toEqual([
    'SEARCH recipient USING INDEX recipient_expiry (destination=? AND expires_at<?)',
  ])
  expect(await planOf({ sql: waitingLanes, params: {} })).toEqual(['SCAN recipient USING INDEX recipient_due'])
  expect(await planOf({ sql: waitingLanesOf, params: { destination: lane.destination } })).toEqual([
    'SEARCH recipient USING INDEX recipient_due (destination=?)',
  ])
})
