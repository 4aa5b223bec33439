import type { BounceCategory } from '../../mail/bounce-parser/refusal.ts'
import { requireTlsOf } from '../../mail/message/transfer-options.ts'
import type { Notice, NoticeAction, NoticeRecipient } from './notice.ts'
import type { LastAttempt, NewsRow, ToldRow } from './notice-store.ts'
import { returnedContent } from './returned-content.ts'

/** A recipient to report on, with its event's data; null for a warning. */
export interface Told {
  row: ToldRow
  bounce: Bounce | null
}

interface Bounce {
  category: BounceCategory
  enhancedStatus: string | null
  reason: string
}

/** The data of an `email.bounced` event; null for other events. */
export function bounceOf({ type, data }: NewsRow): Bounce | null {
  if (type !== 'email.bounced') return null
  const { bounce_category: category, enhanced_status: enhancedStatus, reason } = JSON.parse(data)
  return { category, enhancedStatus, reason }
}

/** What else is stored about a message. */
interface Kept {
  /** Of the content; null if it was deleted. */
  firstChunk: Uint8Array | null
  /** By recipient. */
  lastAttempts: ReadonlyMap<string, LastAttempt>
}

/** The notice about some recipients of one message. */
export function noticeOf(action: NoticeAction, told: [Told, ...Told[]], { firstChunk, lastAttempts }: Kept): Notice {
  const [{ row }] = told
  return {
    action,
    recipients: told.map((one) => recipientOf(action, one, lastAttempts.get(one.row.recipient_id))),
    original: {
      messageIdHeader: row.message_id_header,
      subject: row.subject,
      envid: row.envid,
      arrivedAt: row.created_at,
      smtputf8: row.smtputf8 === 1,
      requireTls: requireTlsOf(row.transfer) === true,
      returned: returnedContent(row, action, firstChunk),
    },
  }
}

function recipientOf(action: NoticeAction, { row, bounce }: Told, attempt: LastAttempt | undefined): NoticeRecipient {
  // A host that bounces mail after delivery is not the one that accepted it.
  const last = action === 'failed' && row.delivered_at !== null ? undefined : attempt
  return {
    address: row.forward_path,
    orcpt: row.orcpt,
    enhancedStatus: bounce?.enhancedStatus ?? row.enhanced_status,
    smtpCode: row.smtp_code,
    // The server's reply verbatim, else our own description.
    reason: row.last_response ?? bounce?.reason ?? null,
    category: bounce?.category ?? null,
    remoteHost: last?.mx_host ?? null,
    lastAttemptAt: last?.started_at ?? null,
    retriedUntil: action === 'delayed' ? row.expires_at : null,
  }
}
