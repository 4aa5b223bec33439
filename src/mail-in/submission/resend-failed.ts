import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import { headerAuthors } from '../../mail/message/complete.ts'
import { storedEnvelope, type EnvelopeRecipient } from '../../mail/message/envelope.ts'
import { storedHeader } from '../../mail/message/header-summary.ts'
import { isKept, type MessageRow } from '../../mail/message/message-store.ts'
import { storedOptions } from '../../mail/message/send-options.ts'
import { transferAgain } from '../../mail/message/transfer-options.ts'
import type { Idempotency, Submitter } from '../../mail/message/submission.ts'
import type { Database } from '../../platform/store/database.ts'
import type { ErasedAddress } from '../../mail/suppression/erased-address.ts'
import { findSuppressed } from '../../mail/suppression/suppression-list.ts'
import type { Accept } from './accept.ts'
import type { Accepted } from './admission.ts'

interface ResendServices extends Pick<BaseServices, 'db' | 'clock'> {
  erasedAddress: ErasedAddress
  accept: Accept
}

/** Who resends a message. */
interface ResendRequest {
  submitter: Submitter
  idempotency: Idempotency | null
}

/** `resendFailed`, bound to its services. */
export type Resend = (messageId: string, by: ResendRequest) => Promise<Accepted>

/**
 * Resends a stored message, byte for byte, as a new one to the recipients it failed to reach, except those on the suppression list. Its
 * readers should see the same message, so it keeps its Date and Message-ID. It goes through `accept` like any other.
 * @throws SternaError `invalid_state` if no recipient failed, all of them are suppressed, or the content is no longer stored; what `accept`
 *   throws
 */
export async function resendFailed(messageId: string, by: ResendRequest, services: ResendServices): Promise<Accepted> {
  const { db, clock, accept } = services
  const [failed, { row, start }] = await Promise.all([failedRecipients(messageId, db), storedMessage(messageId, db)])
  if (failed.length === 0) {
    throw new SternaError('invalid_state', 'No recipient of this email has failed permanently, so there is nobody to send it to again.')
  }
  const query = { ...by.submitter, erasedAddress: services.erasedAddress, now: clock.now() }
  const addresses = failed.map(({ forwardPath }) => forwardPath)
  const isSuppressed = await findSuppressed(db, query, addresses)
  const recipients = failed.filter(({ forwardPath }) => !isSuppressed(forwardPath, row.unsubscribe_topic))
  if (recipients.length === 0) throw allSuppressed()
  const options = storedOptions(row)
  return accept({
    ...by,
    id: newId('em', clock.now()),
    source: row.source,
    envelope: { ...storedEnvelope(row), recipients },
    header: storedHeader(row, headerAuthors(start)),
    content: { size: row.size, pending: [], stored: 0, copyOf: messageId },
    options: { ...options, scheduledAt: null, transfer: transferAgain(options.transfer) },
  })
}

const failedRecipients = async (messageId: string, db: Database): Promise<EnvelopeRecipient[]> => {
  const rows = await db.read<Pick<EnvelopeRecipient, 'type' | 'notify' | 'orcpt'> & { forward_path: string }>(
    `select forward_path, type, notify, orcpt from recipient
      where message_id = :messageId and state in ('bounced', 'failed', 'suppressed') order by id`,
    { messageId },
  )
  return rows.map(({ forward_path: forwardPath, ...rest }) => ({ forwardPath, ...rest }))
}

/** The row of a message, and the chunks of its content that contain the header. */
async function storedMessage(messageId: string, db: Database): Promise<{ row: MessageRow; start: Uint8Array }> {
  const [[row], chunks] = await Promise.all([
    db.read<MessageRow>('select * from message where id = :messageId', { messageId }),
    db.read<{ bytes: Uint8Array }>(
      `select bytes, crc32 from content where message_id = :messageId and chunk < 2 and ${isKept} order by chunk`,
      {
        messageId,
      },
    ),
  ])
  if (!row || chunks.length === 0) throw contentGone()
  return { row, start: Buffer.concat(chunks.map(({ bytes }) => bytes)) }
}

const allSuppressed = (): SternaError =>
  new SternaError(
    'invalid_state',
    'Everybody whom this email did not reach is on the suppression list, so nobody would get it. Remove an entry there first.',
  )

const contentGone = (): SternaError =>
  new SternaError('invalid_state', 'The content of this email is no longer kept, so it cannot be sent again.')
