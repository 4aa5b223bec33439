import type { Clock } from '../../src/platform/clock.ts'
import { newId } from '../../src/platform/id.ts'
import type { Database } from '../../src/platform/store/database.ts'

/** Reports that came by mail just now: one about an email of this account, whose id it gives, and one about `sender.example`. */
export async function keepReturnedMail({ db, clock }: { db: Pick<Database, 'write'>; clock: Clock }, accountId: string): Promise<string> {
  const now = clock.now()
  const id = newId('rep', now)
  await db.write([
    {
      sql: `insert into returned_mail_content (id, box, cost, bytes) values (:id, 'proved', 4096, :bytes)`,
      params: { id, bytes: Buffer.from('Subject: Hi\r\n\r\nHello\r\n') },
    },
    {
      sql: `insert into returned_mail
              (id, received_at, purpose, forward_path, remote_address, ehlo_name, tls, size, content_id, state, result, account_id, settled_at)
            values (:id, :now, 'bounce', 'b@relay.example', '192.0.2.1', 'mx.example', 0, 22, :id, 'done', 'no_report', :accountId, :now)`,
      params: { id, accountId, now },
    },
    {
      sql: `insert into domain_report
              (id, kind, domain, reporter, report_id, begin_at, end_at, total, failed, row_count, rows_left_out, remote_address, received_at)
            values (:id, 'dmarc', 'sender.example', 'receiver.example', :id, :now, :now, 0, 0, 0, 0, '192.0.2.1', :now)`,
      params: { id: newId('drp', now), now },
    },
  ])
  return id
}
