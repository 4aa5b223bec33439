import type { z } from 'zod'
import { isoTime } from '../../iso-time.ts'
import type { EventRow } from '../../message/message-reader.ts'
import type { AcceptedBatch } from '../../submission/accept-batch.ts'
import type { Accepted } from '../../submission/admission.ts'
import type { eventSchema } from '../event-schema.ts'

/** The answer to a sent email; a replay builds the same from what was kept. */
export const sentEmailObject = (accepted: Accepted) => ({
  object: 'email' as const,
  id: accepted.messageId,
  status: accepted.status,
  created_at: isoTime(accepted.createdAt),
  to: accepted.recipients.filter(({ type }) => type === 'to').map(({ address }) => address),
  recipients: accepted.recipients.map(({ address, type, state }) => ({ email: address, type, status: state })),
})

/** An event as webhooks carry it; the log also shows those that webhooks do not. */
export const eventObject = (row: EventRow) =>
  ({ id: row.id, type: row.type, created_at: isoTime(row.created_at), data: JSON.parse(row.data) }) as z.input<typeof eventSchema>

/** What a batch is answered; strict ones have no `errors`. */
export const sentBatchObject = ({ emails, errors }: AcceptedBatch, mode: 'strict' | 'permissive') => ({
  data: emails.map(({ messageId }) => ({ id: messageId })),
  ...(mode === 'strict' ? {} : { errors: errors.map(({ index, code, message }) => ({ index, message, name: code })) }),
})
