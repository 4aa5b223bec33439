import type { Operation } from '../operation/operation.ts'
import type { ApiServices } from './operation-services.ts'
import { emailAttachmentOperations } from './email-attachment-operations.ts'
import { emailChangeOperations } from './email-change-operations.ts'
import { emailCheckOperations } from './email-check-operations.ts'
import { emailReadingOperations } from './email-reading-operations.ts'
import { emailSendingOperations } from './email-sending-operations.ts'
import { emailSourceOperations } from './email-source-operations.ts'

/** `/api/emails` and `/api/send`. */
export const emailOperations = (services: ApiServices): Operation[] => [
  ...emailSendingOperations(services),
  ...emailReadingOperations(services),
  ...emailChangeOperations(services),
  ...emailAttachmentOperations(services),
  ...emailSourceOperations(services),
  ...emailCheckOperations(services),
]
