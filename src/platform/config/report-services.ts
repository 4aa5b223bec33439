import { createPublicKey } from 'node:crypto'

/** Services that report over HTTP what became of the mail that they took. */
export const reportServices = ['ses', 'postmark', 'mailgun', 'sendgrid'] as const
export type ReportService = (typeof reportServices)[number]

/** What people call them. */
export const reportServiceNames: Readonly<Record<ReportService, string>> = {
  ses: 'Amazon SES',
  postmark: 'Postmark',
  mailgun: 'Mailgun',
  sendgrid: 'SendGrid',
}

const reportPath = '/inbound/reports/'

/** The path at which a service reports. */
export const reportPathOf = (service: ReportService): string => `${reportPath}${service}`

/** The name of the service that reports at this path; undefined if none does. */
export function serviceNameAt(path: string): string | undefined {
  const service = reportServices.find((each) => reportPathOf(each) === path)
  return service && reportServiceNames[service]
}

/** characters: whoever guesses it writes reports */
const minPasswordLength = 16

/** What is wrong with what is to prove that reports are the service's; null if nothing is. */
export function faultOfReportsKey(service: ReportService, key: string): string | null {
  switch (service) {
    case 'ses':
      return regionOfTopic(key) === null ? 'with ses, it is the ARN of the topic: arn:aws:sns:REGION:ACCOUNT:NAME.' : null
    case 'sendgrid':
      return isVerificationKey(key) ? null : "with sendgrid, it is the verification key that the webhook's page shows, in base64."
    case 'postmark':
      return key.length < minPasswordLength ? `with postmark, it is a password of ${minPasswordLength} or more characters.` : null
    case 'mailgun':
      return null
  }
}

/** The region of an SNS topic, and the domain of its endpoints; null if it is no ARN of a topic. */
export function regionOfTopic(arn: string): { region: string; domain: string } | null {
  const [, partition, region] = /^arn:(aws|aws-cn|aws-us-gov):sns:([a-z]{2}(?:-[a-z]+)+-\d):\d{12}:[\w-]{1,256}$/.exec(arn) ?? []
  if (region === undefined) return null
  return { region, domain: partition === 'aws-cn' ? 'amazonaws.com.cn' : 'amazonaws.com' }
}

/** An ECDSA key of the curve P-256. */
function isVerificationKey(key: string): boolean {
  try {
    return (
      createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' }).asymmetricKeyDetails?.namedCurve === 'prime256v1'
    )
  } catch {
    return false
  }
}
