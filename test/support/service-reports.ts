import { createHmac, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import type { FetchFromSns } from '../../src/mail-back/smarthost-report/sns-certificates.ts'
import { testCertificate } from './test-certificates.ts'

/** Something that happens to mail that a service took, in no service's words. */
export type ServiceEvent = 'delivered' | 'hard' | 'soft' | 'deferred' | 'dropped' | 'complained' | 'unsubscribed' | 'opened'

/** The mail, as the service knows it. */
export interface ServiceMail {
  to: string
  /** The header as it came. */
  header: string
}

/** A request of a service, as it signs it. */
export interface ServiceRequest {
  body: string
  headers: Record<string, string>
}

/** A service that reports: its key, and its documented payloads. */
export interface ReportingService {
  /** `delivery.smarthost_reports_key`. */
  key: string
  fetchFromSns?: FetchFromSns
  /** What SNS was asked for. */
  asked?: string[]
  /** @param now of the request, epoch ms */
  report(mail: ServiceMail, event: ServiceEvent, now: number): ServiceRequest
  /** The same, with a proof that is not the service's. */
  forge(mail: ServiceMail, event: ServiceEvent, now: number): ServiceRequest
}

const fieldOf = (header: string, name: string): string =>
  header
    .split(/\r\n(?![ \t])/)
    .find((field) => field.toLowerCase().startsWith(`${name.toLowerCase()}:`))
    ?.slice(name.length + 1)
    .trim() ?? ''

const json = { 'content-type': 'application/json' }

const replies: Partial<Record<ServiceEvent, string>> = {
  delivered: '250 2.0.0 OK 1461095248 m143si2210036ioe.159 - gsmtp',
  hard: '550 5.1.1 The email account that you tried to reach does not exist.',
  soft: '552 5.2.2 The email account that you tried to reach is over quota.',
  deferred: '450 4.2.1 The user you are trying to contact is receiving mail too quickly.',
}
const replyTo = (event: ServiceEvent): string => replies[event] ?? ''

export function mailgunReports(): ReportingService {
  const key = randomBytes(16).toString('hex')
  const reportBy = (signingKey: string) => (mail: ServiceMail, event: ServiceEvent, now: number) => {
    const timestamp = String(Math.floor(now / 1000))
    const token = randomBytes(25).toString('hex')
    const signature = createHmac('sha256', signingKey)
      .update(timestamp + token)
      .digest('hex')
    return {
      body: JSON.stringify({ signature: { timestamp, token, signature }, 'event-data': mailgunEvent(mail, event, now) }),
      headers: json,
    }
  }
  return { key, report: reportBy(key), forge: reportBy('another key') }
}

function mailgunEvent({ to, header }: ServiceMail, event: ServiceEvent, now: number): object {
  const [code = '', ...words] = replyTo(event).split(' ')
  const names: Partial<Record<ServiceEvent, string>> = {
    delivered: 'delivered',
    complained: 'complained',
    unsubscribed: 'unsubscribed',
    opened: 'opened',
  }
  const own = {
    severity: event === 'deferred' ? 'temporary' : 'permanent',
    reason: event === 'dropped' ? 'suppress-bounce' : 'bounce',
    'delivery-status':
      event === 'dropped'
        ? { code: 605, message: 'Not delivering to previously bounced address', description: '', 'attempt-no': 1 }
        : { 'mx-host': 'smtp-in.example.com', code: Number(code), message: words.join(' '), description: '', 'attempt-no': 1, tls: true },
  }
  const isFate = ['hard', 'soft', 'deferred', 'dropped', 'delivered'].includes(event)
  return {
    event: names[event] ?? 'failed',
    id: randomBytes(8).toString('hex'),
    timestamp: now / 1000,
    'log-level': 'info',
    recipient: to,
    'user-variables': JSON.parse(fieldOf(header, 'X-Mailgun-Variables') || '{}'),
    message: { headers: { to, 'message-id': fieldOf(header, 'Message-ID').replace(/[<>]/g, ''), from: fieldOf(header, 'From') } },
    ...(isFate && own),
  }
}

export function postmarkReports(): ReportingService {
  const key = randomBytes(12).toString('hex')
  const reportBy = (password: string) => (mail: ServiceMail, event: ServiceEvent, now: number) => ({
    body: JSON.stringify(postmarkEvent(mail, event, now)),
    headers: { ...json, authorization: `Basic ${Buffer.from(`sterna:${password}`).toString('base64')}` },
  })
  return { key, report: reportBy(key), forge: reportBy('another password') }
}

function postmarkEvent({ to, header }: ServiceMail, event: ServiceEvent, now: number): object {
  const common = {
    MessageID: '2706ee8a-737c-4285-b032-ccd317af53ed',
    ServerID: 23,
    MessageStream: 'outbound',
    Tag: '',
    Metadata: { 'sterna-ref': fieldOf(header, 'X-PM-Metadata-sterna-ref') },
  }
  const at = new Date(now).toISOString()
  const bounce = (Type: string, Details: string) => ({
    ...common,
    RecordType: 'Bounce',
    ID: 901542550,
    Type,
    TypeCode: 1,
    Name: Type,
    Description: 'The server was unable to deliver your message (ex: unknown user, mailbox not found).',
    Details,
    Email: to,
    From: fieldOf(header, 'From'),
    BouncedAt: at,
    DumpAvailable: true,
    Inactive: true,
    CanActivate: true,
    Subject: 'Hello',
  })
  switch (event) {
    case 'delivered':
      return { ...common, RecordType: 'Delivery', Recipient: to, DeliveredAt: at, Details: `smtp;${replyTo(event)}` }
    case 'hard':
      return bounce('HardBounce', `smtp;${replyTo(event)}`)
    case 'soft':
      return bounce('SoftBounce', `smtp;${replyTo(event)}`)
    case 'deferred':
      return bounce('Transient', `smtp;${replyTo(event)}`)
    case 'dropped':
      return bounce('BadEmailAddress', 'The address is not a valid email address.')
    case 'complained':
      return { ...bounce('SpamComplaint', 'Test spam complaint details'), RecordType: 'SpamComplaint', TypeCode: 512 }
    case 'unsubscribed':
      return {
        ...common,
        RecordType: 'SubscriptionChange',
        ChangedAt: at,
        Recipient: to,
        Origin: 'Recipient',
        SuppressSending: true,
        SuppressionReason: 'ManualSuppression',
      }
    case 'opened':
      return { ...common, RecordType: 'Open', FirstOpen: true, Recipient: to, ReceivedAt: at, UserAgent: 'Mozilla/5.0', Geo: {} }
  }
}

/** SendGrid sends batches: `together` makes one of several. */
export function sendgridReports(): ReportingService & { together(told: [ServiceMail, ServiceEvent][], now: number): ServiceRequest } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const other = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey
  const signed = (key: KeyObject, events: object[], now: number): ServiceRequest => {
    const body = JSON.stringify(events)
    const timestamp = String(Math.floor(now / 1000))
    const headers = {
      ...json,
      'X-Twilio-Email-Event-Webhook-Signature': sign('sha256', Buffer.from(timestamp + body), key).toString('base64'),
      'X-Twilio-Email-Event-Webhook-Timestamp': timestamp,
    }
    return { body, headers }
  }
  return {
    key: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
    report: (mail, event, now) => signed(privateKey, [sendgridEvent(mail, event, now)], now),
    forge: (mail, event, now) => signed(other, [sendgridEvent(mail, event, now)], now),
    together: (told, now) =>
      signed(
        privateKey,
        told.map(([mail, event]) => sendgridEvent(mail, event, now)),
        now,
      ),
  }
}

function sendgridEvent({ to, header }: ServiceMail, event: ServiceEvent, now: number): object {
  const { unique_args: uniqueArgs } = JSON.parse(fieldOf(header, 'X-SMTPAPI') || '{}') as { unique_args?: object }
  const common = {
    email: to,
    timestamp: Math.floor(now / 1000),
    'smtp-id': fieldOf(header, 'Message-ID'),
    sg_event_id: randomBytes(12).toString('base64url'),
    sg_message_id: 'wrfRRvF7Q0GgwUo2CvDmEA.filter0425p1mdw1.13037.57168B4A1D.0',
    ...uniqueArgs,
  }
  const own: Record<ServiceEvent, object> = {
    delivered: { event: 'delivered', ip: '167.89.17.173', response: replyTo(event), tls: 1 },
    hard: { event: 'bounce', type: 'bounce', status: '5.1.1', reason: replyTo(event), bounce_classification: 'Invalid Address' },
    soft: { event: 'bounce', type: 'blocked', status: '5.2.2', reason: replyTo(event), bounce_classification: 'Mailbox Unavailable' },
    deferred: { event: 'deferred', attempt: '1', response: replyTo(event) },
    dropped: { event: 'dropped', reason: 'Bounced Address' },
    complained: { event: 'spamreport' },
    unsubscribed: { event: 'unsubscribe' },
    opened: { event: 'open', ip: '66.102.6.229', useragent: 'Mozilla/5.0', sg_machine_open: false },
  }
  return { ...common, ...own[event] }
}

export const topicArn = 'arn:aws:sns:eu-central-1:123456789012:ses-events'
const endpoint = 'https://sns.eu-central-1.amazonaws.com'

/** SES by SNS, which has its certificate at its endpoint. */
export async function sesReports(version: '1' | '2' = '2'): Promise<
  ReportingService & {
    confirmation(now: number, topic?: string): ServiceRequest
    /** What SNS posts, signed, with some members changed before that. */
    post(members: Record<string, string>): ServiceRequest
    asked: string[]
  }
> {
  const [own, other] = await Promise.all([testCertificate(['sns.amazonaws.com']), testCertificate(['sns.amazonaws.com'])])
  const certificateUrl = `${endpoint}/SimpleNotificationService-01d088a6f77103d0fe307c0069e40ed6.pem`
  const asked: string[] = []
  const signedBy = (key: string, members: Record<string, string>): ServiceRequest => {
    const message: Record<string, string> = { SignatureVersion: version, SigningCertURL: certificateUrl, TopicArn: topicArn, ...members }
    // In the order of the developer guide: "Verifying the signatures of Amazon SNS messages".
    const names =
      message['Type'] === 'Notification'
        ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
        : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
    const text = names.filter((name) => name in message).map((name) => `${name}\n${message[name]}\n`)
    const Signature = sign(version === '1' ? 'sha1' : 'sha256', Buffer.from(text.join('')), key).toString('base64')
    return { body: JSON.stringify({ ...message, Signature }), headers: { 'content-type': 'text/plain; charset=UTF-8' } }
  }
  const notification = (event: object, now: number): Record<string, string> => ({
    Type: 'Notification',
    MessageId: '19ba9823-d7f2-53c1-860e-cb10e0d13dfc',
    Subject: 'Amazon SES Email Event Notification',
    Message: `${JSON.stringify(event)}\n`,
    Timestamp: new Date(now).toISOString(),
  })
  return {
    key: topicArn,
    asked,
    async fetchFromSns(url) {
      asked.push(url)
      if (url === certificateUrl) return { status: 200, text: own.cert }
      return url.includes('ConfirmSubscription') ? { status: 200, text: '<ConfirmSubscriptionResponse/>' } : { status: 404, text: '' }
    },
    report: (mail, event, now) => signedBy(own.key, notification(sesEvent(mail, event, now), now)),
    forge: (mail, event, now) => signedBy(other.key, notification(sesEvent(mail, event, now), now)),
    post: (members) => signedBy(own.key, members),
    confirmation: (now, topic = topicArn) =>
      signedBy(own.key, {
        Type: 'SubscriptionConfirmation',
        MessageId: '165545c9-2a5c-472c-8df2-7ff2be2b3b1b',
        Token: '2336412f37',
        TopicArn: topic,
        Message: 'You have chosen to subscribe to the topic.',
        SubscribeURL: `${endpoint}/?Action=ConfirmSubscription&TopicArn=${topic}&Token=2336412f37`,
        Timestamp: new Date(now).toISOString(),
      }),
  }
}

function sesEvent({ to, header }: ServiceMail, event: ServiceEvent, now: number): object {
  const timestamp = new Date(now).toISOString()
  const headers = header.split(/\r\n(?![ \t])/).map((field) => {
    const [name = '', ...value] = field.split(':')
    return { name, value: value.join(':').trim() }
  })
  const mail = {
    timestamp,
    source: 'app@sender.example',
    messageId: '00000138111222aa-33322211-cccc-cccc-cccc-ddddaaaa0680-000000',
    destination: [to],
    headersTruncated: false,
    headers,
    tags: { 'ses:configuration-set': ['ConfigSet'] },
  }
  const failed = (status: string, type: string, subtype: string, diagnosticCode: string) => ({
    eventType: 'Bounce',
    mail,
    bounce: {
      bounceType: type,
      bounceSubType: subtype,
      bouncedRecipients: [{ emailAddress: to, action: 'failed', status, diagnosticCode }],
      timestamp,
      feedbackId: '00000138111222aa-44455566-cccc-cccc-cccc-ddddaaaa068a-000000',
      reportingMTA: 'dns; email.example.com',
    },
  })
  switch (event) {
    case 'delivered':
      return {
        eventType: 'Delivery',
        mail,
        delivery: { timestamp, recipients: [to], processingTimeMillis: 546, smtpResponse: replyTo(event) },
      }
    case 'hard':
      return failed('5.1.1', 'Permanent', 'General', `smtp; ${replyTo(event)}`)
    case 'soft':
      return failed('5.2.2', 'Transient', 'MailboxFull', `smtp; ${replyTo(event)}`)
    case 'dropped':
      return failed(
        '5.1.1',
        'Permanent',
        'Suppressed',
        'Amazon SES has suppressed sending to this address because it has a recent history of bouncing as an invalid address.',
      )
    case 'deferred':
      return {
        eventType: 'DeliveryDelay',
        mail,
        deliveryDelay: {
          timestamp,
          delayType: 'TransientCommunicationFailure',
          expirationTime: timestamp,
          delayedRecipients: [{ emailAddress: to, status: '4.2.1', diagnosticCode: `smtp; ${replyTo(event)}` }],
        },
      }
    case 'complained':
      return {
        eventType: 'Complaint',
        mail,
        complaint: {
          userAgent: 'AnyCompany Feedback Loop (V0.01)',
          complainedRecipients: [{ emailAddress: to }],
          complaintFeedbackType: 'abuse',
          timestamp,
        },
      }
    case 'unsubscribed':
      return {
        eventType: 'Subscription',
        mail,
        subscription: {
          contactList: 'ContactListName',
          timestamp,
          source: 'UnsubscribeHeader',
          newTopicPreferences: { unsubscribeAll: true },
        },
      }
    case 'opened':
      return { eventType: 'Open', mail, open: { ipAddress: '192.0.2.1', timestamp, userAgent: 'Mozilla/5.0' } }
  }
}
