import { PostgresConnection } from './postgres-connection.ts'
import type { PostgresPlace } from './postgres-url.ts'

/** A connection for one long transaction, in which the other side of a copy is waited for. */
export async function openForCopy(place: PostgresPlace): Promise<PostgresConnection> {
  const connection = await PostgresConnection.open(place, { isPatient: true, copies: true })
  await connection.execute("set idle_in_transaction_session_timeout = 0; set statement_timeout = 0; set lock_timeout = '5s'")
  return connection
}
