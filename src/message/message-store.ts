import type { Statement } from '../store/database.ts'
import type { Content, Submission } from './submission.ts'

const insertChunk = (messageId: string, chunk: number, bytes: Uint8Array): Statement => ({
  sql: 'insert into content (message_id, chunk, bytes) values (:messageId, :chunk, :bytes)',
  params: { messageId, chunk, bytes },
})

/** Stores a chunk ahead of its message, which only its last batch makes. Chunk 0 goes first. */
export function storeAhead(messageId: string, chunk: number, bytes: Uint8Array): Statement[] {
  const begin: Statement = { sql: 'insert into upload (message_id) values (:messageId)', params: { messageId } }
  return [...(chunk === 0 ? [begin] : []), insertChunk(messageId, chunk, bytes)]
}

/** The same with the chunks of another message: those from `chunks.from` on, up to but without `chunks.to`, which must all be there. */
export function copyContent(messages: { from: string; to: string }, chunks: { from: number; to: number }): Statement[] {
  const begin: Statement = { sql: 'insert into upload (message_id) values (:messageId)', params: { messageId: messages.to } }
  const copy: Statement = {
    sql: `insert into content (message_id, chunk, bytes)
          select :copyId, chunk, bytes from content where message_id = :messageId and chunk >= :first and chunk < :end`,
    params: { copyId: messages.to, messageId: messages.from, first: chunks.from, end: chunks.to },
    expect: chunks.to - chunks.from,
  }
  return [...(chunks.from === 0 ? [begin] : []), copy]
}

/** Removes the chunks of a message that will not be completed. */
export const dropUpload = (messageId: string): Statement[] => [
  { sql: 'delete from content where message_id = :messageId', params: { messageId } },
  { sql: 'delete from upload where message_id = :messageId', params: { messageId } },
]

/** Removes the chunks of every message that was not completed when the process ended. For the start only. */
export const dropEveryUpload: Statement[] = [
  { sql: 'delete from content where message_id in (select message_id from upload)' },
  { sql: 'delete from upload' },
]

/** The chunks of the content that are not stored yet; the message is complete with them. */
export function insertContent(messageId: string, { pending, stored }: Content): Statement[] {
  const complete: Statement = { sql: 'delete from upload where message_id = :messageId', params: { messageId }, expect: 1 }
  return [...(stored > 0 ? [complete] : []), ...pending.map((bytes, place) => insertChunk(messageId, stored + place, bytes))]
}

/** The row of a message and its tags. */
export function insertMessage(submission: Submission, domainId: string | null, now: number): Statement[] {
  const { id, submitter, tags } = submission
  return [
    {
      sql: `insert into message
              (id, account_id, domain_id, source, sandbox, reverse_path, author, header_from, header_to, header_cc, reply_to,
               subject, message_id_header, size, body_type, smtputf8, envid, ret, tags, metadata, template_id,
               unsubscribe_topic, scheduled_at, created_at)
            values
              (:id, :accountId, :domainId, :source, :sandbox, :reversePath, :author, :headerFrom, :headerTo, :headerCc, :replyTo,
               :subject, :messageIdHeader, :size, :bodyType, :smtputf8, :envid, :ret, :tags, :metadata,
               :templateId, :unsubscribeTopic, :scheduledAt, :now)`,
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
        scheduledAt: submission.scheduledAt,
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
