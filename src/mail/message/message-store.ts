import type { Statement } from '../../platform/store/database.ts'
import { envelopeColumns } from './envelope.ts'
import { headerColumns } from './header-summary.ts'
import { optionColumns } from './send-options.ts'
import type { Submission } from './submission.ts'
import type { TrackingWish } from './tracking-options.ts'

/** True if content may still be shown and resent, because it is not waiting to be erased. */
export const isKept = 'not exists (select 1 from content_to_erase e where e.message_id = content.message_id)'

/**
 * The row of a message, by column.
 * @param by.domainId the domain that signs; null in the sandbox
 * @param by.tracking what is tracked, with the domain's defaults
 * @param by.now epoch, ms
 */
export const messageRow = (
  { id, source, submitter, envelope, header, content, options }: Submission,
  { domainId, tracking, now }: { domainId: string | null; tracking: TrackingWish; now: number },
) => ({
  id,
  account_id: submitter.accountId,
  domain_id: domainId,
  source,
  sandbox: submitter.sandbox ? 1 : 0,
  size: content.size,
  ...envelopeColumns(envelope),
  ...headerColumns(header),
  ...optionColumns(options, tracking),
  created_at: now,
})

export type MessageRow = ReturnType<typeof messageRow>

/** Writes the row of a message and its tags. */
export const insertMessage = (row: MessageRow, { tags }: Submission['options']): Statement[] => [
  { sql: insertSql(row), params: row },
  ...tags.map(({ name, value }) => ({
    sql: `insert into message_tag (account_id, name, value, message_id) values (:accountId, :name, :value, :id)
          on conflict (account_id, name, value, message_id) do nothing`,
    params: { id: row.id, accountId: row.account_id, name, value },
  })),
]

let cachedSql: string | undefined

/** Built once, because all rows have the same columns. */
const insertSql = (row: MessageRow): string =>
  (cachedSql ??= `insert into message (${Object.keys(row).join(', ')})
                  values (${Object.keys(row)
                    .map((column) => `:${column}`)
                    .join(', ')})`)
