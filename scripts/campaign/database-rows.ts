import { setTimeout as pause } from 'node:timers/promises'
import { openReader } from '../../src/platform/store/sqlite/sqlite-connection.ts'

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

/** Waits for a condition, five minutes at most, for the machine may be busy. @throws Error where it was not met by then */
export async function until(isMet: () => boolean): Promise<void> {
  for (const end = performance.now() + 300_000; !isMet(); await pause(50)) {
    if (performance.now() > end) throw new Error(`Not within five minutes: ${isMet}`)
  }
}
