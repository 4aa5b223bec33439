import { setTimeout as pause } from 'node:timers/promises'
import { openReader } from '../../src/platform/store/sqlite-connection.ts'

/** Reads the database of a server's data directory beside it: what is on disk, whatever the server says. */
export const rowsIn =
  (directory: string) =>
  <R>(sql: string): R[] => {
    const connection = openReader(directory)
    try {
      return connection.prepare<[], R>(sql).all()
    } finally {
      connection.close()
    }
  }

/** Waits for a condition, a minute at most. @throws Error where it was not met by then */
export async function until(isMet: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; !isMet(); await pause(50)) {
    if (Date.now() > end) throw new Error(`Not within a minute: ${isMet}`)
  }
}
