import { createHash } from 'node:crypto'
import type { BaseServices } from '../../platform/base-services.ts'
import type { ReportService } from '../../platform/config/report-services.ts'
import { SternaError } from '../../platform/errors.ts'
import { clientNetwork } from '../../platform/ip-address.ts'
import { lastUsed } from '../../platform/last-used.ts'
import { parseJsonText } from '../../platform/parse-json.ts'
import { hasPassword, isSignedBySendgrid, mailgunSignature, sendgridKey } from './report-signature.ts'
import { SnsCertificates, type FetchFromSns } from './sns-certificates.ts'
import { isCertificateUrl, isConfirmationUrl, isSignedBySns, snsMessageOf } from './sns-message.ts'

/** A request that is said to be of a service. */
export interface ReportRequest {
  body: string
  headers: Readonly<Partial<Record<(typeof signatureFields)[number], string>>>
  /** Where it came from. */
  address: string
}

/** The header fields that prove it, in lower case. */
export const signatureFields = [
  'authorization',
  'x-twilio-email-event-webhook-signature',
  'x-twilio-email-event-webhook-timestamp',
] as const

interface VerifyServices extends Pick<BaseServices, 'clock' | 'log'> {
  fetchFromSns: FetchFromSns
}

/**
 * Resolves to true if the request brings reports, and to false if all that there was to do is done.
 * @throws SternaError `unverified_report`, `invalid_json`, `service_unavailable`
 */
export type VerifyReport = (request: ReportRequest) => Promise<boolean>

/** What checks that requests are of a service. `key`: what the setting has, which `faultOfReportsKey` finds right. */
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
    return isSignedBySendgrid(body, { signature, timestamp }, key) || refuse('it has no signature by the verification key')
  }
}

/** Tokens remembered. */
const maxTokens = 10_000

/** The signature does not cover the body. So each counts for the first body that comes with it, which may come again. */
function ofMailgun(key: string, { clock }: VerifyServices): VerifyReport {
  const bodies = lastUsed<string>(maxTokens)
  return async ({ body }) => {
    const signed = mailgunSignature(parseJsonText(body), key, clock.now())
    if (!signed) return refuse('it has no signature by the signing key, or one that is too old')
    const digest = createHash('sha256').update(body).digest('base64')
    const known = bodies.get(signed.token)
    if (known !== undefined && known !== digest) return refuse('its signature has been used for another one')
    bodies.set(signed.token, digest)
    return true
  }
}

function ofSes(topicArn: string, { clock, log, fetchFromSns }: VerifyServices): VerifyReport {
  const certificates = new SnsCertificates(clock, fetchFromSns)
  return async ({ body, address }) => {
    const message = snsMessageOf(parseJsonText(body))
    if (message.topicArn !== topicArn) return refuse('it is of another topic than delivery.smarthost_reports_key names')
    if (!isCertificateUrl(message.signingCertUrl, topicArn)) return refuse('its certificate is not at SNS')
    const isSigned = await certificates
      .prove(message.signingCertUrl, clientNetwork(address), (certificate) => isSignedBySns(message, certificate))
      .catch((error: unknown) => unavailable(error, 'verify the report'))
    if (!isSigned) return refuse('it has no signature by SNS')
    if (message.type === 'SubscriptionConfirmation') {
      if (!isConfirmationUrl(message.subscribeUrl, topicArn)) return refuse('what confirms the subscription is not at SNS')
      const { status } = await fetchFromSns(message.subscribeUrl).catch((error: unknown) => unavailable(error, 'confirm the subscription'))
      if (status !== 200) return unavailable(new Error(`SNS answered with status ${status}`), 'confirm the subscription')
      log.info({ topicArn }, 'the subscription to reports of the smarthost was confirmed')
    }
    return message.type === 'Notification'
  }
}

function refuse(why: string): never {
  throw new SternaError('unverified_report', `This report counts for nothing: ${why}.`)
}

function unavailable(cause: unknown, what: string): never {
  throw new SternaError('service_unavailable', `SNS cannot be asked now to ${what}. Try again later.`, { retryAfter: 60, cause })
}
