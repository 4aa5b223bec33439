import { PostgresConnection } from './postgres-connection.ts'
import { openErrorOf } from './postgres-errors.ts'
import { requireFit, schemaOf, sizeOf } from './postgres-schema.ts'
import type { ServedSchema } from './served-schema.ts'
import { postgresPlace } from './postgres-url.ts'

export { requireServed } from './served-schema.ts'

/**
 * The schema of a database on a server, of the version 0 if it has none yet, and its size in bytes. Changes nothing.
 * @throws SternaError `configuration`, with what to do, if it cannot be reached or used
 */
export async function schemaAt(url: string): Promise<{ found: ServedSchema; size: number }> {
  const place = postgresPlace(url)
  try {
    const connection = await PostgresConnection.open(place)
    try {
      await requireFit(connection)
      return { found: await schemaOf(connection), size: await sizeOf(connection) }
    } finally {
      await connection.close()
    }
  } catch (error) {
    throw openErrorOf(error, place)
  }
}
