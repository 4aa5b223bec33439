import type { Database } from '../../src/store/database.ts'

/** A report that came by mail and was about an email of this account; gives its id. */
export async function keepReport(db: Pick<Database, 'write'>, accountId: string): Promise<string> {
  const id = 'rep_01kahk3yq4x8v5t2n7m9b6c1d0'
  await db.write([
    { sql: `insert into incoming_content (id, box, cost, bytes) values (:id, 'proved', 4096, :bytes)`, params: { id, bytes: Buffer.from('Subject: Hi\r\n\r\nHello\r\n') } },
    {
      sql: `insert into incoming_report
              (id, received_at, purpose, forward_path, remote_address, ehlo_name, tls, size, content_id, state, result, account_id, settled_at)
            values (:id, 0, 'bounce', 'b@relay.example', '192.0.2.1', 'mx.example', 0, 22, :id, 'done', 'no_report', :accountId, 0)`,
      params: { id, accountId },
    },
  ])
  return id
}
