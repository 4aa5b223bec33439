import type { Statement } from '../store/database.ts'
import type { Submission } from './submission.ts'
import { trackingColumn, type TrackingOptions } from './tracking-options.ts'

/** True of content that may still be shown and sent anew: it names nobody who was erased. */
export const isKept = 'not exists (select 1 from content_to_erase e where e.message_id = content.message_id)'

/** A message as it goes in. */
interface NewMessage {
  submission: Submission
  /** The domain that signs; null in the sandbox. */
  domainId: string | null
  /** What is tracked of it; null: nothing. */
  tracking: TrackingOptions | null
  /** Epoch, ms. */
  now: number
}

/** The row of a message and its tags. */
export function insertMessage({ submission, domainId, tracking, now }: NewMessage): Statement[] {
  const { id, submitter, tags } = submission
  return [
    {
      sql: `insert into message
              (id, account_id, domain_id, source, sandbox, reverse_path, author, header_from, header_to, header_cc, reply_to,
               subject, message_id_header, size, body_type, smtputf8, envid, ret, tags, metadata, template_id,
               unsubscribe_topic, tracking, scheduled_at, expires_in, created_at)
            values
              (:id, :accountId, :domainId, :source, :sandbox, :reversePath, :author, :headerFrom, :headerTo, :headerCc, :replyTo,
               :subject, :messageIdHeader, :size, :bodyType, :smtputf8, :envid, :ret, :tags, :metadata,
               :templateId, :unsubscribeTopic, :tracking, :scheduledAt, :expiresIn, :now)`,
      params: {
        id,
        accountId: submitter.accountId,
        domainId,
        source: submission.source,
        sandbox: submitter.sandbox ? 1 : 0,
        reversePath: submission.reversePath,
        author: submission.headerFrom[0]?.address.toLowerCase() ?? null,
        headerFrom: submission.headerFromText,
        headerTo: JSON.stringify(submission.headerToText),
        headerCc: JSON.stringify(submission.headerCcText),
        replyTo: JSON.stringify(submission.replyToText),
        subject: submission.subject,
        messageIdHeader: submission.messageIdHeader,
        size: submission.content.size,
        bodyType: submission.bodyType,
        smtputf8: submission.smtputf8 ? 1 : 0,
        envid: submission.envid,
        ret: submission.ret,
        tags: JSON.stringify(tags),
        metadata: JSON.stringify(submission.metadata),
        templateId: submission.templateId,
        unsubscribeTopic: submission.unsubscribeTopic,
        tracking: trackingColumn(tracking),
        scheduledAt: submission.scheduledAt,
        expiresIn: submission.expiresIn,
        now,
      },
    },
    ...tags.map(({ name, value }) => ({
      sql: `insert into message_tag (account_id, name, value, message_id) values (:accountId, :name, :value, :id)
            on conflict (account_id, name, value, message_id) do nothing`,
      params: { id, accountId: submitter.accountId, name, value },
    })),
  ]
}
