import { createHash } from 'node:crypto'
import type { BaseServices } from '../../platform/base-services.ts'
import type { ReportService } from '../../platform/config/report-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { clientNetwork } from '../../platform/ip-address.ts'
import { lastUsed } from '../../platform/last-used.ts'
import { parseJsonText } from '../../platform/parse-json.ts'
import { hasPassword, isSignedBySendgrid, mailgunToken, sendgridKey } from './report-signature.ts'
import { SnsCertificates, type FetchFromSns } from './sns-certificates.ts'
import { isCertificateUrl, isConfirmationUrl, isSignedBySns, snsMessageOf } from './sns-message.ts'

/** A request that claims to come from a service. */
export interface ReportRequest {
  body: string
  headers: Readonly<Partial<Record<(typeof signatureFields)[number], string>>>
  /** The client's. */
  address: string
}

/** The header fields that prove where it comes from, in lower case. */
export const signatureFields = [
  'authorization',
  'x-twilio-email-event-webhook-signature',
  'x-twilio-email-event-webhook-timestamp',
] as const

interface VerifyServices extends Pick<BaseServices, 'clock' | 'log'> {
  fetchFromSns: FetchFromSns
}

/**
 * Resolves to true if the request brings reports, and to false if nothing more is to be done.
 * @throws SternaError `unverified_report`, `invalid_json`, `service_unavailable`
 */
export type VerifyReport = (request: ReportRequest) => Promise<boolean>

/** Checks that requests come from a service. `key`: a valid one, by `faultOfReportsKey`. */
export function reportVerifier(service: ReportService, key: string, services: VerifyServices): VerifyReport {
  switch (service) {
    case 'postmark':
      return async ({ headers }) => hasPassword(headers.authorization, key) || refuse('its password is missing or wrong')
    case 'sendgrid':
      return ofSendgrid(key)
    case 'mailgun':
      return ofMailgun(key, services)
    case 'ses':
      return ofSes(key, services)
  }
}

function ofSendgrid(base64: string): VerifyReport {
  const key = sendgridKey(base64)
  return async ({ body, headers }) => {
    const signature = headers['x-twilio-email-event-webhook-signature']
    const timestamp = headers['x-twilio-email-event-webhook-timestamp']
    return isSignedBySendgrid(body, { signature, timestamp }, key) || refuse('it is not signed with the verification key')
  }
}

/** Tokens of Mailgun that are remembered. */
const maxTokens = 10_000

/** The signature does not cover the body, so it counts only for the first body that comes with it, which may be repeated. */
function ofMailgun(key: string, { clock }: VerifyServices): VerifyReport {
  const bodies = lastUsed<string>(maxTokens)
  return async ({ body }) => {
    const token = mailgunToken(parseJsonText(body), key, clock.now())
    if (token === null) return refuse('it is not signed with the signing key, or was signed too long ago')
    const digest = createHash('sha256').update(body).digest('base64')
    const known = bodies.get(token)
    if (known !== undefined && known !== digest) return refuse('its signature came with another report before')
    bodies.set(token, digest)
    return true
  }
}

function ofSes(topicArn: string, { clock, log, fetchFromSns }: VerifyServices): VerifyReport {
  const certificates = new SnsCertificates(clock, fetchFromSns)
  return async ({ body, address }) => {
    const message = snsMessageOf(parseJsonText(body))
    if (message.topicArn !== topicArn) return refuse('its topic is not the one in delivery.smarthost_reports_key')
    if (!isCertificateUrl(message.signingCertUrl, topicArn)) return refuse('its signing certificate is not at SNS')
    const isSigned = await certificates
      .prove(message.signingCertUrl, clientNetwork(address), (certificate) => isSignedBySns(message, certificate))
      .catch((error: unknown) => unavailable(error, 'verify the report'))
    if (!isSigned) return refuse('SNS did not sign it')
    if (message.type === 'SubscriptionConfirmation') await confirm(message.subscribeUrl)
    return message.type === 'Notification'
  }

  async function confirm(url: string): Promise<void> {
    if (!isConfirmationUrl(url, topicArn)) return refuse('its link to confirm the subscription does not lead to SNS')
    const { status } = await fetchFromSns(url).catch((error: unknown) => unavailable(error, 'confirm the subscription'))
    if (status !== 200) unavailable(new Error(`SNS answered with status ${status}`), 'confirm the subscription')
    log.info({ topicArn }, 'the subscription to reports of the smarthost was confirmed')
  }
}

function refuse(why: string): never {
  throw new SternaError('unverified_report', `This report is not accepted: ${why}.`)
}

function unavailable(cause: unknown, what: string): never {
  throw new SternaError('service_unavailable', `SNS cannot be asked now to ${what}. Try again later.`, { retryAfter: 60, cause })
}
