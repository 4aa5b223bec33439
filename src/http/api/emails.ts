import type { Operation } from '../operation.ts'
import { emailAttachmentOperations, type EmailAttachmentParts } from './email-attachments.ts'
import { emailChangeOperations, type EmailChangeParts } from './email-changes.ts'
import { emailReadingOperations, type EmailReadingParts } from './email-reading.ts'
import { emailSendingOperations, type EmailSendingParts } from './email-sending.ts'

export type EmailParts = EmailSendingParts & EmailReadingParts & EmailChangeParts & EmailAttachmentParts

/** `/api/emails` and `/api/send`. */
export const emailOperations = (parts: EmailParts): Operation[] => [
  ...emailSendingOperations(parts),
  ...emailReadingOperations(parts),
  ...emailChangeOperations(parts),
  ...emailAttachmentOperations(parts),
]
