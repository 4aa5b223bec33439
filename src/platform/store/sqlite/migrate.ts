import { migrations } from '../schema-steps.ts'
import type { Connection } from './sqlite-connection.ts'

/** The schema that a database has; 0 if it has none yet. */
export const schemaOf = (connection: Connection): number => connection.pragma('user_version', { simple: true }) as number

/** Updates the schema; each migration and its number are one transaction. */
export function migrate(connection: Connection, steps = migrations()): void {
  const found = schemaOf(connection)
  for (const { version, sql } of steps.filter((step) => step.version > found)) {
    connection.transaction(() => {
      connection.exec(sql)
      connection.pragma(`user_version = ${version}`)
    })()
  }
}
