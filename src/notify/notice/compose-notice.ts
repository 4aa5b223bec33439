import { textPart, wholePart, type MimePart } from '../../mail/message/compose-parts.ts'
import type { SystemMail } from '../../mail-in/submission/system-mail.ts'
import { deliveryStatus, isInternational } from './delivery-status.ts'
import type { Notice } from './notice.ts'
import { noticeSubject, noticeText } from './notice-words.ts'

/**
 * A delivery status notification (RFC 3464; RFC 6533 if an address or the header is not ASCII): a text for people, a report for programs,
 * and what we return of the message.
 * @param to the submitter's reverse-path
 * @param server its name, and its operator's address
 */
export function composeNotice(notice: Notice, to: string, server: { hostname: string; operator: string }): SystemMail {
  const international = isInternational(notice)
  return {
    to,
    subject: noticeSubject(notice),
    autoSubmitted: 'auto-replied',
    headers: threadFields(notice.original.messageIdHeader),
    ...(notice.original.requireTls && { transfer: { requireTls: true } }),
    multipart: 'report; report-type=delivery-status',
    parts: [
      textPart(noticeText(notice, server), ['Content-Description: Notification']),
      wholePart(`message/${international ? 'global-delivery-status' : 'delivery-status'}`, deliveryStatus(notice, server.hostname), [
        'Content-Description: Delivery report',
      ]),
      returnedPart(notice, international),
    ],
  }
}

/** RFC 3834 3.1.5. Our header must not repeat anything but a plain message identifier. */
const threadFields = (messageId: string): Record<string, string> =>
  /^<[!-;=?-~]{1,250}>$/.test(messageId) ? { 'In-Reply-To': messageId, References: messageId } : {}

function returnedPart({ original: { returned } }: Notice, international: boolean): MimePart {
  if (returned.isWhole)
    return wholePart(international ? 'message/global' : 'message/rfc822', returned.bytes, ['Content-Description: Undelivered message'])
  return wholePart(international ? 'message/global-headers' : 'text/rfc822-headers', returned.bytes, [
    'Content-Description: Header of the message',
  ])
}
