import type { Operation } from '../operation.ts'
import { emailAttachmentOperations, type EmailAttachmentParts } from './email-attachment-operations.ts'
import { emailChangeOperations, type EmailChangeParts } from './email-change-operations.ts'
import { emailReadingOperations, type EmailReadingParts } from './email-reading-operations.ts'
import { emailSendingOperations, type EmailSendingParts } from './email-sending-operations.ts'

export type EmailParts = EmailSendingParts & EmailReadingParts & EmailChangeParts & EmailAttachmentParts

/** `/api/emails` and `/api/send`. */
export const emailOperations = (parts: EmailParts): Operation[] => [
  ...emailSendingOperations(parts),
  ...emailReadingOperations(parts),
  ...emailChangeOperations(parts),
  ...emailAttachmentOperations(parts),
]
