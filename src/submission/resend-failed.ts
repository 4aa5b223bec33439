import type { Clock } from '../clock.ts'
import { SternaError } from '../errors.ts'
import { newId } from '../id.ts'
import { headerAuthors } from '../message/complete.ts'
import { isKept } from '../message/message-store.ts'
import type { Idempotency, Submission, Submitter, Tag } from '../message/submission.ts'
import { storedTracking } from '../message/tracking-options.ts'
import type { Database, Row } from '../store/database.ts'
import type { Accept } from './accept.ts'
import type { Accepted } from './admission.ts'

interface ResendParts {
  db: Database
  clock: Clock
  accept: Accept
}

/** Who wants a message sent again. */
interface ResendRequest {
  submitter: Submitter
  idempotency: Idempotency | null
}

/** `resendFailed` with its parts given. */
export type Resend = (messageId: string, by: ResendRequest) => Promise<Accepted>

interface MessageRow extends Row {
  source: 'api' | 'smtp' | 'compat'
  reverse_path: string | null
  header_from: string
  header_to: string
  header_cc: string
  reply_to: string
  subject: string
  message_id_header: string
  size: number
  body_type: '7bit' | '8bitmime'
  smtputf8: number
  envid: string | null
  ret: string | null
  tags: string
  metadata: string
  template_id: string | null
  unsubscribe_topic: string | null
  tracking: string | null
  expires_in: number | null
}

interface RecipientRow extends Row {
  forward_path: string
  type: 'to' | 'cc' | 'bcc'
  notify: string | null
  orcpt: string | null
}

/**
 * Sends a stored message again, byte for byte, as a new one to those recipients whom it will not reach otherwise. It is
 * the same message to its readers, so it keeps its Date and Message-ID. It passes through the door like any other.
 * @throws SternaError `invalid_state` where nobody failed or the content is no longer kept; whatever `accept` refuses
 */
export async function resendFailed(messageId: string, by: ResendRequest, parts: ResendParts): Promise<Accepted> {
  const { db, clock, accept } = parts
  const [recipients, submission] = await Promise.all([failedRecipients(messageId, db), storedSubmission(messageId, by, db)])
  const [first] = recipients
  if (!first)
    throw new SternaError('invalid_state', 'No recipient of this email has failed for good, so there is nobody to send it to again.')
  const { size, ...rest } = submission
  return accept({
    ...rest,
    id: newId('em', clock.now()),
    content: { size, pending: [], stored: 0, copyOf: messageId },
    recipients: recipients.map(({ forward_path: address, type, notify, orcpt }) => ({
      mailbox: { address, name: null },
      type,
      notify,
      orcpt,
    })),
    scheduledAt: null,
  })
}

const failedRecipients = (messageId: string, db: Database): Promise<RecipientRow[]> =>
  db.read<RecipientRow>(
    `select forward_path, type, notify, orcpt from recipient
      where message_id = :messageId and state in ('bounced', 'failed', 'suppressed') order by id`,
    { messageId },
  )

type Stored = Omit<Submission, 'id' | 'content' | 'recipients' | 'scheduledAt'> & { size: number }

/** What is kept of a submission beside its content and recipients. */
async function storedSubmission(messageId: string, by: ResendRequest, db: Database): Promise<Stored> {
  const [[row], start] = await Promise.all([
    db.read<MessageRow>(
      `select source, reverse_path, header_from, header_to, header_cc, reply_to, subject, message_id_header, size, body_type,
              smtputf8, envid, ret, tags, metadata, template_id, unsubscribe_topic, tracking, expires_in
         from message where id = :messageId`,
      { messageId },
    ),
    db.read<{ bytes: Uint8Array }>(`select bytes from content where message_id = :messageId and chunk < 2 and ${isKept} order by chunk`, {
      messageId,
    }),
  ])
  if (!row || start.length === 0) throw contentGone()
  const { from: headerFrom, sender } = headerAuthors(Buffer.concat(start.map(({ bytes }) => bytes)))
  return {
    source: row.source,
    submitter: by.submitter,
    reversePath: row.reverse_path,
    headerFrom,
    sender,
    headerFromText: row.header_from,
    headerToText: JSON.parse(row.header_to) as string[],
    headerCcText: JSON.parse(row.header_cc) as string[],
    replyToText: JSON.parse(row.reply_to) as string[],
    subject: row.subject,
    messageIdHeader: row.message_id_header,
    bodyType: row.body_type,
    smtputf8: row.smtputf8 === 1,
    envid: row.envid,
    ret: row.ret,
    tags: JSON.parse(row.tags) as Tag[],
    metadata: JSON.parse(row.metadata) as Record<string, string>,
    templateId: row.template_id,
    unsubscribeTopic: row.unsubscribe_topic,
    tracking: storedTracking(row.tracking) ?? { opens: false, clicks: false },
    idempotency: by.idempotency,
    expiresIn: row.expires_in,
    size: row.size,
  }
}

const contentGone = (): SternaError =>
  new SternaError('invalid_state', 'The content of this email is no longer kept, so it cannot be sent again.')
