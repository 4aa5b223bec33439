import { textPart, wholePart, type MimePart } from '../message/compose-parts.ts'
import type { SystemMail } from '../submission/system-mail.ts'
import { deliveryStatus, isInternational } from './delivery-status.ts'
import type { Notice } from './notice.ts'
import { noticeSubject, noticeText } from './notice-words.ts'

/**
 * A delivery status notification (RFC 3464; RFC 6533 where an address or the header is beyond ASCII): words for people, a
 * report for programs, and what goes back of the message.
 * @param to the reverse-path of the submitter
 * @param server its name, and the address of whoever runs it
 */
export function composeNotice(notice: Notice, to: string, server: { hostname: string; operator: string }): SystemMail {
  const international = isInternational(notice)
  return {
    to,
    subject: noticeSubject(notice),
    autoSubmitted: 'auto-replied',
    headers: threadFields(notice.original.messageIdHeader),
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

/** RFC 3834 3.1.5. What is no plain message identifier does not go into a header of ours. */
const threadFields = (messageId: string): Record<string, string> =>
  /^<[!-;=?-~]{1,250}>$/.test(messageId) ? { 'In-Reply-To': messageId, References: messageId } : {}

function returnedPart({ original: { returned } }: Notice, international: boolean): MimePart {
  if (returned.isWhole)
    return wholePart(international ? 'message/global' : 'message/rfc822', returned.bytes, ['Content-Description: Undelivered message'])
  return wholePart(international ? 'message/global-headers' : 'text/rfc822-headers', returned.bytes, [
    'Content-Description: Header of the message',
  ])
}
