import type { Operation } from '../operation/operation.ts'
import { emailAttachmentOperations, type EmailAttachmentServices } from './email-attachment-operations.ts'
import { emailChangeOperations, type EmailChangeServices } from './email-change-operations.ts'
import { emailCheckOperations, type EmailCheckServices } from './email-check-operations.ts'
import { emailReadingOperations, type EmailReadingServices } from './email-reading-operations.ts'
import { emailRemovalOperations, type EmailRemovalServices } from './email-removal-operations.ts'
import type { SendServices } from './send-emails.ts'
import { emailSendingOperations } from './email-sending-operations.ts'
import { emailSourceOperations } from './email-source-operations.ts'

export type EmailServices = SendServices &
  EmailReadingServices &
  EmailChangeServices &
  EmailRemovalServices &
  EmailAttachmentServices &
  EmailCheckServices

/** `/api/emails` and `/api/send`. */
export const emailOperations = (services: EmailServices): Operation[] => [
  ...emailSendingOperations(services),
  ...emailReadingOperations(services),
  ...emailChangeOperations(services),
  ...emailRemovalOperations(services),
  ...emailAttachmentOperations(services),
  ...emailSourceOperations(services),
  ...emailCheckOperations(services),
]
