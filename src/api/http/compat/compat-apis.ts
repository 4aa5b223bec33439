import type { CompatApi, CompatServices } from './compat-api.ts'
import { mailgunApi } from './mailgun.ts'
import { postalApi } from './postal.ts'
import { postmarkApi } from './postmark.ts'
import { sendGridApi } from './sendgrid.ts'

/**
 * The APIs for apps that were written for another service: they change a host name and a key. An email that comes by
 * one of them has the source `compat`.
 */
export const compatApis = (services: CompatServices): CompatApi[] => [
  sendGridApi(services),
  postmarkApi(services),
  mailgunApi(services),
  postalApi(services),
]
