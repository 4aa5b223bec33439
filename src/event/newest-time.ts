import { timeOfId } from '../id.ts'
import type { Database } from '../store/database.ts'

/** The newest time that is written down, epoch ms: that of an event, since whatever happens to mail is one. Null: none was written yet. */
export async function newestTime(db: Pick<Database, 'read'>): Promise<number | null> {
  const [row] = await db.read<{ id: string | null }>('select max(id) as id from event')
  return row?.id == null ? null : timeOfId(row.id)
}
