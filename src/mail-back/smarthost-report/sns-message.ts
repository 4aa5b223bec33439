import { verify, type X509Certificate } from 'node:crypto'
import { regionOfTopic } from '../../platform/config/report-services.ts'
import { objectOf, textOf } from '../../platform/json-values.ts'

/** What SNS posts; all texts, empty where they are missing. */
export interface SnsMessage {
  type: string
  topicArn: string
  signingCertUrl: string
  subscribeUrl: string
  fields: Readonly<Record<string, unknown>>
}

export function snsMessageOf(body: unknown): SnsMessage {
  const fields = objectOf(body)
  return {
    type: textOf(fields['Type']),
    topicArn: textOf(fields['TopicArn']),
    signingCertUrl: textOf(fields['SigningCertURL']),
    subscribeUrl: textOf(fields['SubscribeURL']),
    fields,
  }
}

/** The members that are signed, in order; those that are missing are left out. */
const signedOf = (type: string): string[] =>
  type === 'Notification'
    ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
    : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']

/** Version 1 is SHA-1, which the topic's attribute `SignatureVersion` replaces. */
const algorithms: Readonly<Record<string, string>> = { 1: 'sha1', 2: 'sha256' }

/** Whether SNS has signed the message with the key of this certificate. */
export function isSignedBySns({ type, fields }: SnsMessage, certificate: X509Certificate): boolean {
  const algorithm = algorithms[textOf(fields['SignatureVersion'])]
  if (algorithm === undefined) return false
  const signed = signedOf(type).flatMap((name) => (typeof fields[name] === 'string' ? [name, fields[name]] : []))
  const signature = Buffer.from(textOf(fields['Signature']), 'base64')
  return verify(algorithm, Buffer.from(`${signed.join('\n')}\n`), certificate.publicKey, signature)
}

/** Whether the URL is of a signing certificate at the endpoint of the topic's own region, in the only form that it has. */
export const isCertificateUrl = (url: string, topicArn: string): boolean =>
  isAtEndpoint(url, topicArn) && /^https:\/\/[a-z0-9.-]+\/SimpleNotificationService-[0-9a-f]{8,64}\.pem$/.test(url)

/** Whether the URL confirms a subscription at the endpoint of the topic's own region. */
export const isConfirmationUrl = (url: string, topicArn: string): boolean => isAtEndpoint(url, topicArn) && new URL(url).pathname === '/'

function isAtEndpoint(url: string, topicArn: string): boolean {
  const place = regionOfTopic(topicArn)
  const { protocol, host, username, password } = URL.parse(url) ?? {}
  return place !== null && protocol === 'https:' && host === `sns.${place.region}.${place.domain}` && !username && !password
}
