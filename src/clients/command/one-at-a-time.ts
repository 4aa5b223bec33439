import { SternaError } from '../../platform/errors.ts'
import { ConflictError, refusedAs } from '../../platform/store/database.ts'
import { RetriedWrites } from '../../platform/store/retried-writes.ts'
import type { CommandServices } from './command-services.ts'

/**
 * Does what two at a time would do to each other: at most one node or command applies a file. It knows all changes of the others then. If its end
 * cannot be written, that is tried until it can, or until this process has gone.
 * @throws SternaError `invalid_state` if another is at it
 */
export async function oneAtATime<T>(
  { db, changes, log, owner }: Pick<CommandServices, 'db' | 'changes' | 'log' | 'owner'>,
  work: () => Promise<T>,
): Promise<T> {
  const taking = {
    sql: `insert into duty (name, holder) values ('apply', :owner)
          on conflict (name) do update set holder = excluded.holder
            where duty.holder is null or duty.holder not in (select name from node)`,
    params: { owner },
    expect: 1,
  }
  await refusedAs(db.write([taking]), ConflictError, underWay)
  try {
    await changes.caughtUp()
    return await work()
  } finally {
    const release = [{ sql: `update duty set holder = null where name = 'apply' and holder = :owner`, params: { owner } }]
    await db.write(release).catch(() => void new RetriedWrites({ db, log }).write(release))
  }
}

const underWay = (): SternaError =>
  new SternaError('invalid_state', 'Another "sterna apply" is under way, here or at another node. Run this one again when that has ended.')
