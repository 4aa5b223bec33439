import type { z } from 'zod'
import type { TlsUsed } from '../../delivery/attempt.ts'
import { isoTime, isoTimeOrNull } from '../../iso-time.ts'
import { deriveStatus, lastEventOf, type NewestEvent } from '../../message/email-status.ts'
import type { AttemptRow, EventRow, RecipientRow } from '../../message/message-reader.ts'
import type { MessageRow } from '../../message/message-store.ts'
import type { Tag } from '../../message/send-limits.ts'
import { storedTracking } from '../../message/tracking-options.ts'
import type { RecipientState } from '../../queue/recipient-state.ts'
import type { AcceptedBatch } from '../../submission/accept-batch.ts'
import type { Accepted } from '../../submission/admission.ts'
import type { eventSchema } from '../event-schema.ts'
import { explainAttempt } from './explain-attempt.ts'

const orNull = <T>(list: T[]): T[] | null => (list.length === 0 ? null : list)

/** The answer to a sent email; a replay builds the same from what was kept. */
export const sentEmailObject = (accepted: Accepted) => ({
  object: 'email' as const,
  id: accepted.messageId,
  status: accepted.status,
  created_at: isoTime(accepted.createdAt),
  to: accepted.recipients.filter(({ type }) => type === 'to').map(({ address }) => address),
  recipients: accepted.recipients.map(({ address, type, state }) => ({ email: address, type, status: state })),
})

/** What belongs to a message beside its own row. */
interface EmailParts {
  recipients: RecipientRow[]
  newestEvent: NewestEvent | undefined
}

/** An email in a list. */
export function emailItem(message: MessageRow, { recipients, newestEvent }: EmailParts) {
  const status = deriveStatus(recipients.map(({ state }) => state))
  return {
    object: 'email' as const,
    id: message.id,
    message_id: message.message_id_header,
    from: message.header_from,
    to: JSON.parse(message.header_to) as string[],
    cc: orNull(JSON.parse(message.header_cc) as string[]),
    bcc: orNull(recipients.filter(({ type }) => type === 'bcc').map(({ forward_path }) => forward_path)),
    reply_to: orNull(JSON.parse(message.reply_to) as string[]),
    subject: message.subject,
    metadata: JSON.parse(message.metadata) as Record<string, string>,
    template_id: message.template_id,
    domain_id: message.domain_id,
    // Mail of the server's own belongs to an account that nobody can read.
    source: message.source as Exclude<MessageRow['source'], 'system'>,
    status,
    last_event: lastEventOf(newestEvent, status),
    scheduled_at: isoTimeOrNull(message.scheduled_at),
    created_at: isoTime(message.created_at),
  }
}

/** An email with all that is known of it; the bodies are null once the content is no longer kept. */
export const emailObject = (message: MessageRow, parts: EmailParts, bodies: { html: string | null; text: string | null }) => ({
  ...emailItem(message, parts),
  html: bodies.html,
  text: bodies.text,
  tags: JSON.parse(message.tags) as Tag[],
  tracking: storedTracking(message.tracking) ?? { opens: false, clicks: false, anonymous: false },
  recipients: parts.recipients.map(recipientObject),
})

const recipientObject = (row: RecipientRow) => ({
  email: row.forward_path,
  type: row.type,
  status: row.state as RecipientState,
  attempts: row.attempts,
  next_attempt_at: isoTimeOrNull(row.due_at),
  last_response: row.last_response,
  smtp_code: row.smtp_code,
  enhanced_status: row.enhanced_status,
  delivered_at: isoTimeOrNull(row.delivered_at),
  bounced_at: isoTimeOrNull(row.bounced_at),
  opened_at: isoTimeOrNull(row.opened_at),
  open_count: row.open_count,
  clicked_at: isoTimeOrNull(row.clicked_at),
  click_count: row.click_count,
  complained_at: isoTimeOrNull(row.complained_at),
  unsubscribed_at: isoTimeOrNull(row.unsubscribed_at),
})

/** One attempt to deliver, with the dialogue and what it means. */
export const attemptObject = (row: AttemptRow) => ({
  object: 'attempt' as const,
  id: row.id,
  email_id: row.message_id,
  recipient: row.forward_path,
  started_at: isoTime(row.started_at),
  duration_ms: row.duration_ms,
  outcome: row.outcome,
  mx_host: row.mx_host,
  address: row.address,
  tls: row.tls === null ? null : (JSON.parse(row.tls) as TlsUsed),
  dkim_selectors: row.selectors === null || row.selectors === '' ? [] : row.selectors.split(','),
  reply: row.reply,
  smtp_code: row.smtp_code,
  enhanced_status: row.enhanced_status,
  transcript: (JSON.parse(row.transcript) as [number, 'c' | 's', string][]).map(([ms, side, line]) => ({
    ms,
    side: side === 'c' ? ('client' as const) : ('server' as const),
    line,
  })),
  explanation: explainAttempt({
    outcome: row.outcome,
    smtpCode: row.smtp_code,
    enhancedStatus: row.enhanced_status,
    reply: row.reply,
  }),
})

/** An event as webhooks carry it; the log also shows those that webhooks do not. */
export const eventObject = (row: EventRow) =>
  ({ id: row.id, type: row.type, created_at: isoTime(row.created_at), data: JSON.parse(row.data) }) as z.input<typeof eventSchema>

/** What a batch is answered; strict ones have no `errors`. */
export const sentBatchObject = ({ emails, errors }: AcceptedBatch, mode: 'strict' | 'permissive') => ({
  data: emails.map(({ messageId }) => ({ id: messageId })),
  ...(mode === 'strict' ? {} : { errors: errors.map(({ index, code, message }) => ({ index, message, name: code })) }),
})
