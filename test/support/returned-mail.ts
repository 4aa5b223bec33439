import { SmtpClient, type ClientReply } from './smtp-client.ts'

const crlf = (lines: string[]): string => lines.join('\r\n')

/** The header of a message as it was delivered, without the fields named here. */
export function headerOf(data: Buffer, without: string[] = []): string {
  const [header = ''] = data.toString('utf8').split('\r\n\r\n')
  const fields = header.split(/\r\n(?![ \t])/)
  return fields.filter((field) => !without.some((name) => field.toLowerCase().startsWith(`${name}:`))).join('\r\n')
}

interface Dsn {
  recipient: string
  action?: 'failed' | 'delayed' | 'delivered'
  status?: string
  diagnostic?: string
  /** The header of the returned message; none comes back unless given. */
  original?: string
}

/** A report on delivery (RFC 3464). */
export function composeDsn({
  recipient,
  action = 'failed',
  status = '5.1.1',
  diagnostic = `550 ${status} No such user`,
  original,
}: Dsn): string {
  const boundary = 'report'
  return crlf([
    'From: Mail Delivery System <MAILER-DAEMON@mx.rcpt.example>',
    'To: the-sender@relay.example',
    'Subject: Undelivered Mail Returned to Sender',
    'Date: Sat, 21 Nov 2026 09:00:00 +0000',
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=delivery-status; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=us-ascii',
    '',
    'I am sorry to have to inform you that your message could not be delivered.',
    '',
    `--${boundary}`,
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.rcpt.example',
    '',
    `Final-Recipient: rfc822; ${recipient}`,
    `Action: ${action}`,
    `Status: ${status}`,
    `Diagnostic-Code: smtp; ${diagnostic}`,
    '',
    ...(original === undefined ? [] : [`--${boundary}`, 'Content-Type: text/rfc822-headers', '', original, '']),
    `--${boundary}--`,
    '',
  ])
}

interface WrittenComplaint {
  type?: string
  /** The whole message as it is reported, redacted or not. */
  original: string
}

/** A complaint (RFC 5965). */
export function composeComplaint({ type = 'abuse', original }: WrittenComplaint): string {
  const boundary = 'complaint'
  return crlf([
    'From: <fbl@provider.example>',
    'To: <fbl@relay.example>',
    'Subject: complaint',
    'Date: Sat, 21 Nov 2026 09:00:00 +0000',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=feedback-report; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=us-ascii',
    '',
    'This is an email abuse report for an email message.',
    '',
    `--${boundary}`,
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${type}`,
    'User-Agent: ProviderFBL/1.0',
    'Version: 1',
    '',
    `--${boundary}`,
    'Content-Type: message/rfc822',
    '',
    original,
    '',
    `--${boundary}--`,
    '',
  ])
}

/** What somebody's mailbox answers by itself (RFC 3834). */
export const composeVacation = (): string =>
  crlf([
    'From: Ann <ann@rcpt.example>',
    'Subject: Out of office: Hello',
    'Date: Sat, 21 Nov 2026 09:00:00 +0000',
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=us-ascii',
    '',
    'I am away until Monday. The address bob@rcpt.example does not exist any more.',
    '',
  ])

/** Hands mail to the return path, over one connection; the reply to each: that of the first command that was refused, or the last. */
export async function returnMail(port: number, to: string, texts: string[]): Promise<ClientReply[]> {
  const client = await SmtpClient.connect(port)
  try {
    await client.command('EHLO mx.rcpt.example')
    const replies: ClientReply[] = []
    for (const text of texts) {
      replies.push(await client.send(text, { from: '', to: [to] }))
      await client.command('RSET')
    }
    return replies
  } finally {
    client.close()
  }
}
