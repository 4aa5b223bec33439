import { rmSync } from 'node:fs'
import { open } from './sqlite-connection.ts'

/** Removes a copy that is not needed, or not whole, and the journal that SQLite leaves beside it where it fails. */
export function removeCopy(file: string): void {
  for (const left of [file, `${file}-journal`]) rmSync(left, { force: true })
}

/**
 * Notes in a copy of the database that it is one, and when it was made: whoever opens it then holds the mail that is queued in it,
 * however the copy came to its place. Its schema may be from before that table. Nothing is flushed here: whoever makes the copy does
 * that, without holding up this thread.
 * @param copiedAt epoch ms
 */
export function markCopy(file: string, copiedAt: number): void {
  const connection = open(file)
  try {
    connection.pragma('synchronous = off')
    connection.exec(
      `create table if not exists copied (copied_at bigint not null, is_held bigint not null);
       insert into copied (copied_at, is_held) values (${copiedAt}, 0)`,
    )
  } finally {
    connection.close()
  }
}
