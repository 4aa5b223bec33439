import { describe, expect, it } from 'vitest'
import { concernedRecipients } from '../../../src/mail/bounce-parser/feedback.ts'
import { parseFeedback } from '../../../src/mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../../../src/mail/bounce-parser/read-returned-message.ts'
import { bounceVocabulary } from '../../../src/mail/bounce-vocabulary.ts'

interface Mail {
  from: string
  subject: string
  fields?: string[]
  text: string[]
}

const read = async ({ from, subject, fields = [], text }: Mail) =>
  parseFeedback(
    await readReturnedMessage(
      Buffer.from([`From: ${from}`, 'To: desk@us.example', `Subject: ${subject}`, ...fields, '', ...text].join('\r\n')),
      bounceVocabulary(),
    ),
  )

const byProgram = ['Return-Path: <>', 'Auto-Submitted: auto-generated']

/** Mail that speaks of delivery, failure and addresses, and reports nobody. */
const mails: Record<string, Mail> = {
  'a newsletter on bounces': {
    from: 'Mail Weekly <news@weekly.example>',
    subject: 'Why your mail bounces: 5 delivery failures and how to mend them',
    fields: ['List-Unsubscribe: <https://weekly.example/u>', 'Precedence: bulk'],
    text: [
      '"550 5.1.1 <kim@shop.example>: User unknown" - who has not seen it?',
      'Delivery to kim@shop.example failed permanently, says the report.',
    ],
  },
  'mail that waits for the moderators of a group': {
    from: 'postmaster@groups.example',
    subject: 'Moderation pending: news',
    fields: byProgram,
    text: [
      'Your message to all@groups.example has been sent to the moderators of the group for approval.',
      'You will be told if it is rejected.',
    ],
  },
  'a ticket about a bounce': {
    from: 'Helpdesk <rt@desk.example>',
    subject: '[desk.example #40217] AutoReply: Delivery Status Notification (Failure)',
    fields: ['Auto-Submitted: auto-replied', 'X-RT-Ticket: desk.example #40217'],
    text: [
      'Your ticket has been opened.',
      '',
      'Delivery to the following recipient failed permanently:',
      '',
      '     kim@shop.example',
      '',
      '550 5.1.1 No such user',
    ],
  },
  'a virus in mail to the reader': {
    from: '"Content-filter" <postmaster@us.example>',
    subject: 'VIRUS (Test) in mail TO YOU from <kim@shop.example>',
    fields: byProgram,
    text: [
      'Our content checker found a virus in an email to you from:',
      '    <kim@shop.example>',
      '',
      'The message WAS NOT delivered to:',
      '<desk@us.example>:',
      '   250 2.7.0 Ok, discarded',
      '',
      'Our internal reference for your message is 1',
    ],
  },
  'an invoice that could not be paid': {
    from: 'Billing <billing@cloud.example>',
    subject: 'Payment failed for invoice 2026-118',
    text: [
      'We could not charge your card: error 402.',
      'Account: desk@us.example. The receipt is sent to books@us.example.',
      'Please update your card, or delivery of the service will be stopped.',
    ],
  },
  'a payment that a bank returned': {
    from: 'Stadtbank <service@stadtbank.example>',
    subject: 'Rückgabe einer Lastschrift: Zahlung fehlgeschlagen',
    text: ['Die Lastschrift konnte nicht eingelöst werden.', 'Empfänger: miete@haus.example', 'Grund: Konto existiert nicht.'],
  },
  'an alert of a monitor': {
    from: 'Nagios <nagios@watch.example>',
    subject: 'PROBLEM: smtp on mx1 is CRITICAL - delivery failed',
    fields: byProgram,
    text: [
      'Service: SMTP',
      'Host: mx1.us.example',
      'State: CRITICAL',
      'Info: 550 5.1.1 <probe@us.example>: Recipient address rejected',
      'Notified: oncall@us.example',
    ],
  },
  'a monitor that found a queue': {
    from: 'Alertmanager <alerts@watch.example>',
    subject: '[FIRING:1] MailQueueTooLong: messages not delivered',
    text: [
      'Labels: instance = mx1.us.example',
      'Description: 300 messages could not be delivered to remote hosts.',
      'Contact: owner@us.example',
    ],
  },
  'an answer of a calendar': {
    from: 'Kim Lee <kim@office.example>',
    subject: 'Declined: Delivery problems, meeting with desk@us.example',
    fields: ['Content-Type: text/calendar; method=REPLY'],
    text: [
      'BEGIN:VCALENDAR',
      'METHOD:REPLY',
      'BEGIN:VEVENT',
      'ATTENDEE;PARTSTAT=DECLINED:mailto:kim@office.example',
      'SUMMARY:Delivery failed, what now',
      'END:VEVENT',
      'END:VCALENDAR',
    ],
  },
  'a ticket that is open': {
    from: 'Support <support@tickets.example>',
    subject: '[Ticket #4711] Mail to kim@shop.example could not be delivered',
    fields: ['Auto-Submitted: auto-replied', 'X-Auto-Response-Suppress: All'],
    text: [
      'We have received your request and opened a ticket.',
      '',
      'You wrote:',
      '> Mail to kim@shop.example could not be delivered, the error is',
      '> 550 5.1.1 User unknown',
    ],
  },
  'a ticket that was answered': {
    from: '"Ana (Support)" <support@tickets.example>',
    subject: 'Re: [Ticket #4711] Undelivered mail to kim@shop.example',
    fields: ['In-Reply-To: <1@us.example>', 'References: <1@us.example>'],
    text: ['The address kim@shop.example does not exist any more. Please write to sales@shop.example.', '', 'Ana'],
  },
  'a notice of a forum': {
    from: 'Forum <noreply@forum.example>',
    subject: 'New reply to "Mail delivery failed: returning message to sender"',
    fields: ['List-ID: <topic.forum.example>'],
    text: ['lou@forum.example wrote:', '', '550 5.1.1 <kim@shop.example>: user unknown. What is that?'],
  },
  'an issue of a code host': {
    from: 'dev <notifications@code.example>',
    subject: '[relay] Delivery fails with 550 for unknown recipients (Issue #12)',
    fields: ['List-ID: <relay.code.example>', 'Precedence: list'],
    text: ['Sending to nobody@host.example fails:', '<nobody@host.example>: 550 5.1.1 User unknown'],
  },
  'a parcel that was not delivered': {
    from: 'ParcelFast <tracking@parcel.example>',
    subject: 'Delivery failed: your parcel 00340434 could not be delivered',
    text: [
      'We could not deliver your parcel today because nobody was at the address.',
      'Recipient: desk@us.example',
      'A new delivery attempt will be made tomorrow.',
      'Questions? parcels@parcel.example',
    ],
  },
  'a parcel whose address is unknown': {
    from: 'Paketdienst <info@paket.example>',
    subject: 'Ihre Sendung konnte nicht zugestellt werden',
    text: [
      'Ihr Paket konnte nicht zugestellt werden: Empfänger unbekannt, Adresse existiert nicht.',
      'Absender: shop@laden.example',
      'Empfänger: kim@office.example',
    ],
  },
  'a parcel that goes back': {
    from: 'Poste <avis@poste.example>',
    subject: 'Échec de livraison de votre colis',
    text: [
      "Votre colis n'a pas pu être livré : adresse introuvable.",
      'Destinataire : kim@office.example',
      'Il sera retourné à son expéditeur.',
    ],
  },
  'a domain that expires': {
    from: 'Registrar <renewals@names.example>',
    subject: 'Domain us.example expires soon: email will fail',
    text: ['Your domain us.example expires in 5 days. Mail to desk@us.example will then be undeliverable.', 'Registrant: owner@us.example'],
  },
  'a backup that failed': {
    from: 'Backup <backup@nas.example>',
    subject: 'Backup failed with errors: 3 files not delivered',
    fields: byProgram,
    text: [
      'Job: nightly',
      'Status: failed',
      'Error: could not write to target',
      'User: kim@office.example',
      'Report sent to desk@us.example',
    ],
  },
  'the output of cron': {
    from: 'Cron Daemon <root@host.example>',
    subject: 'Cron <root@host> /usr/local/bin/send-report',
    fields: ['Auto-Submitted: auto-generated', 'X-Cron-Env: <SHELL=/bin/sh>'],
    text: ['send-report: error: delivery to kim@office.example failed', 'smtp: 550 5.1.1 <kim@office.example>: User unknown'],
  },
  'a log that is summed up': {
    from: 'logwatch@host.example',
    subject: 'Logwatch for host (Linux)',
    fields: byProgram,
    text: [
      '--------------------- Postfix Begin ------------------------',
      '   2   550 5.1.1 <kim@office.example>: User unknown',
      '   1   Delivery failed to lou@office.example',
      '---------------------- Postfix End -------------------------',
    ],
  },
  'the digest of a list': {
    from: 'postfix-users-request@lists.example',
    subject: 'postfix-users Digest, Vol 7, Issue 3',
    fields: ['List-ID: <postfix-users.lists.example>', 'Precedence: list'],
    text: [
      "Today's Topics:",
      '   1. Mail delivery failed (Kim)',
      '',
      'From: Kim <kim@office.example>',
      '',
      'The mail is refused with 550 5.1.1 <lou@office.example>: User unknown.',
    ],
  },
  'a notice of a list to its owner': {
    from: 'mailman-bounces@lists.example',
    subject: 'Bounce action notification',
    fields: ['List-ID: <mailman.lists.example>', 'Precedence: bulk'],
    text: [
      'This is a Mailman mailing list bounce action notice:',
      '    List:       users',
      '    Member:     kim@office.example',
      '    Action:     Subscription disabled.',
      '    Reason:     Excessive or fatal bounces.',
    ],
  },
  'a report of DMARC': {
    from: 'DMARC Aggregate Report <noreply-dmarc@big.example>',
    subject: 'Report Domain: us.example Submitter: big.example Report-ID: <77>',
    fields: byProgram,
    text: ['This is a DMARC aggregate report for us.example.', '12 messages failed, 3 were rejected.', 'Contact: dmarc-help@big.example'],
  },
  'a welcome': {
    from: 'Shop <hello@shop.example>',
    subject: 'Welcome, please confirm your address',
    text: ['You registered with desk@us.example. If the mail was not delivered to you in time, write to kim@shop.example.'],
  },
  'a form of a web site': {
    from: 'WordPress <wordpress@site.example>',
    subject: 'New message from your contact form: mail error',
    text: ['Name: Kim', 'E-mail: kim@office.example', 'Message: my mail to you was returned, it could not be delivered. Why?'],
  },
  'a password that failed': {
    from: 'Security <no-reply@accounts.example>',
    subject: 'Failed sign-in attempt blocked',
    text: [
      'We blocked a failed attempt to sign in to your account desk@us.example.',
      'User: desk@us.example',
      'Recovery address: kim@office.example',
    ],
  },
  'an order that was cancelled': {
    from: 'Shop <orders@shop.example>',
    subject: 'Problem with the delivery of your order 1188',
    text: [
      'Unfortunately your order could not be sent: the address is not valid.',
      'Customer: kim@office.example',
      'Address: 12 High Street',
    ],
  },
  'a shipment, in Spanish': {
    from: 'Correos <info@correos.example>',
    subject: 'Su envio no se pudo entregar',
    text: ['No se pudo entregar su envio. Destinatario: kim@office.example', 'El destinatario no existe en esta direccion.'],
  },
  'a shop that doubts an address': {
    from: 'Pay <service@pay.example>',
    subject: 'Problem with your e-mail address',
    text: ['Your e-mail address kim@office.example could not be confirmed.'],
  },
  'a text message': {
    from: 'SMS Gateway <sms@gateway.example>',
    subject: 'SMS delivery failed',
    text: ['The SMS to +4912345 could not be delivered.', 'Account: kim@office.example'],
  },
  'an application': {
    from: 'Jobs <jobs@firm.example>',
    subject: 'Your application was rejected',
    text: [
      'We have rejected your application.',
      'Contact person: kim@office.example. The address lou@office.example is not valid any more.',
    ],
  },
  'a migration': {
    from: 'Admin <it@us.example>',
    subject: 'Mailbox migration failed',
    text: ['Migration of mailbox kim@office.example failed: user not found'],
  },
  'what a mail system sums up': {
    from: 'Postmaster <postmaster@us.example>',
    subject: 'Weekly mail statistics',
    fields: byProgram,
    text: ['Top rejected recipients:', ' 12 kim@office.example 550 5.1.1 User unknown', ' 7 lou@office.example 550 5.1.1 User unknown'],
  },
  'what a scanner has seen': {
    from: 'MailScanner <postmaster@us.example>',
    subject: 'Warning: E-mail viruses detected',
    fields: byProgram,
    text: [
      'The following e-mails were found to have: Virus Detected',
      'They were addressed to you and have been deleted.',
      '',
      '    Sender: x@elsewhere.example',
      '    Recipient: desk@us.example',
      '    Subject: Delivery failed',
    ],
  },
  'a summary of quarantine': {
    from: 'Spam Filter <postmaster@us.example>',
    subject: 'Spam quarantine digest: 2 blocked messages',
    fields: byProgram,
    text: [
      'Quarantine digest for desk@us.example',
      '',
      'From: x@elsewhere.example  Subject: Undelivered Mail Returned to Sender',
      'From: y@elsewhere.example  Subject: 550 User unknown',
      '',
      'Release | Delete',
    ],
  },
  'who is away, and tells where else to write': {
    from: 'Kim Lee <kim@office.example>',
    subject: 'Mail delivery: I am away',
    fields: ['Return-Path: <>', 'Auto-Submitted: auto-replied'],
    text: [
      'I am out of the office until Monday. If your message bounced, or failed to reach lou@office.example, write to team@office.example.',
    ],
  },
  'who has left': {
    from: 'Kim Lee <kim@office.example>',
    subject: 'Re: your message could not be read',
    fields: ['Return-Path: <>', 'Auto-Submitted: auto-replied', 'In-Reply-To: <1@us.example>'],
    text: ['I am on holiday. Mail to kim@office.example is not read. Failed deliveries: tell lou@office.example.'],
  },
  'a person who asks': {
    from: 'Kim Lee <kim@office.example>',
    subject: 'Mail delivery failed?',
    fields: ['User-Agent: Mozilla Thunderbird'],
    text: ['Hi, my mail to lou@office.example could not be delivered: 550 5.1.1 User unknown. Do you know why?'],
  },
  'a postmaster who answers': {
    from: 'Postmaster <postmaster@isp.example>',
    subject: 'AW: Undelivered Mail Returned to Sender',
    fields: ['References: <1@us.example>', 'In-Reply-To: <1@us.example>'],
    text: [
      'The other side refuses us. Wait until tomorrow.',
      '',
      'Am 6. Mai schrieb Kim:',
      '> <lou@office.example>: host mx.office.example said:',
      '> 550 5.1.1 User unknown',
    ],
  },
  'a person who sends a report on': {
    from: 'Kim Lee <kim@office.example>',
    subject: 'Fwd: Undelivered Mail Returned to Sender',
    fields: ['X-Mailer: Apple Mail (2.3445)'],
    text: [
      'See below.',
      '',
      '> From: MAILER-DAEMON@mx.office.example',
      '> Subject: Undelivered Mail Returned to Sender',
      '>',
      '> <lou@office.example>: host mx.office.example said: 550 5.1.1 User unknown (in reply to RCPT TO command)',
    ],
  },
}

describe('finds no recipient in', () => {
  it.each(Object.entries(mails))('%s', async (_, mail) => {
    expect(concernedRecipients(await read(mail)).map(({ address }) => address)).toEqual([])
  })
})
