import type { Operation } from '../operation.ts'
import { emailAttachmentOperations } from './email-attachments.ts'
import type { EmailAttachmentParts } from './email-attachments.ts'
import { emailChangeOperations } from './email-changes.ts'
import type { EmailChangeParts } from './email-changes.ts'
import { emailReadingOperations } from './email-reading.ts'
import type { EmailReadingParts } from './email-reading.ts'
import { emailSendingOperations } from './email-sending.ts'
import type { EmailSendingParts } from './email-sending.ts'

export type EmailParts = EmailSendingParts & EmailReadingParts & EmailChangeParts & EmailAttachmentParts

/** `/api/emails` and `/api/send`. */
export const emailOperations = (parts: EmailParts): Operation[] => [
  ...emailSendingOperations(parts),
  ...emailReadingOperations(parts),
  ...emailChangeOperations(parts),
  ...emailAttachmentOperations(parts),
]
