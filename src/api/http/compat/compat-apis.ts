import type { CompatApi, CompatServices } from './compat-api.ts'
import { mailgunApi } from './mailgun.ts'
import type { MimeServices } from './mailgun-mime.ts'
import type { MailgunListServices } from './mailgun-suppressions.ts'
import { postalApi } from './postal.ts'
import type { PostalMessageServices } from './postal-messages.ts'
import { postmarkApi } from './postmark.ts'
import type { PostmarkBounceServices } from './postmark-bounces.ts'
import { sendGridApi } from './sendgrid.ts'

/** What all of them take of the server. */
export interface CompatApiServices
  extends CompatServices, MimeServices, PostalMessageServices, PostmarkBounceServices, MailgunListServices {}

/**
 * The APIs for apps that were written for another service: they change a host name and a key. An email that comes by
 * one of them has the source `compat`.
 */
export const compatApis = (services: CompatApiServices): CompatApi[] => [
  sendGridApi(services),
  postmarkApi(services),
  mailgunApi(services),
  postalApi(services),
]
