import { describe, expect, it } from 'vitest'
import { matchFeedback } from '../../../src/mail-back/feedback/match-feedback.ts'
import { parseFeedback } from '../../../src/mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../../../src/mail/bounce-parser/read-returned-message.ts'
import { bounceVocabulary } from '../../../src/mail/bounce-vocabulary.ts'

/** What follows for Ann, whose address the mail was sent to, where it comes to the address of her bounces. */
type Outcome = 'hard' | 'soft' | 'delayed' | 'nothing'

interface Mail {
  from?: string
  subject?: string
  fields?: string[]
  body: string[]
}

const text = (from: string, subject: string, ...body: string[]): Mail => ({ from, subject, body })

/** A report with a status; `said` is what it says for people. */
function dsn(
  fields: string[],
  said: string[] = ['Your message could not be delivered.'],
  original: string[] = ['From: shop@us.example', 'To: ann@rcpt.example', 'Subject: Order'],
): Mail {
  return {
    fields: ['MIME-Version: 1.0', 'Content-Type: multipart/report; report-type=delivery-status; boundary=r'],
    body: [
      '--r',
      'Content-Type: text/plain; charset=utf-8',
      '',
      ...said,
      '',
      '--r',
      'Content-Type: message/delivery-status',
      '',
      'Reporting-MTA: dns; mx.example',
      '',
      ...(fields.some((field) => /^(?:final|original)-/i.test(field)) ? fields : ['Final-Recipient: rfc822; ann@rcpt.example', ...fields]),
      '',
      '--r',
      'Content-Type: message/rfc822',
      '',
      ...original,
      '',
      'Hello',
      '--r--',
    ],
  }
}

/** The report within a message that only wraps it. */
function wrapped({ fields = [], body }: Mail, words: string[]): Mail {
  const report = [
    '--w',
    'Content-Type: message/rfc822',
    '',
    'From: MAILER-DAEMON@mx.example',
    'Subject: Undeliverable',
    ...fields,
    '',
    ...body,
    '--w--',
  ]
  const own = words.length === 0 ? [] : ['--w', 'Content-Type: text/plain', '', ...words]
  return { fields: ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=w'], body: [...own, ...report] }
}

const base64 = (bytes: Buffer): string => bytes.toString('base64')
/** `宛先不明` in ISO-2022-JP, whose JIS codes are those of EUC-JP without their high bits. */
const japanese = Buffer.from('\x1b$B08@hITL@\x1b(B: ann@rcpt.example', 'latin1')
const daemon = 'Mail Delivery System <MAILER-DAEMON@mx.example>'
const ours = [
  'Return-Path: <b0@us.example>',
  'Received: from us by them; Sat, 21 Nov 2026 08:00:00 +0000',
  'From: shop@us.example',
  'To: ann@rcpt.example',
]

/** In the manner of many systems, as they write; none of these is a message that somebody got. */
const reports: [string, Outcome, Mail][] = [
  // A status with its diagnostic.
  [
    'Postfix, refused at RCPT',
    'hard',
    dsn([
      'Action: failed',
      'Status: 5.1.1',
      'Diagnostic-Code: smtp; 550 5.1.1 <ann@rcpt.example>: Recipient address rejected: User unknown in virtual mailbox table',
    ]),
  ],
  [
    'Postfix, a code of nothing at RCPT',
    'hard',
    dsn(
      ['Action: failed', 'Status: 5.0.0', 'Diagnostic-Code: smtp; 550 No such user here'],
      ['<ann@rcpt.example>: host mx.rcpt.example[192.0.2.1] said: 550 No such user here (in reply to RCPT TO command)'],
    ),
  ],
  [
    'Postfix, a code of nothing after the data',
    'soft',
    dsn(
      ['Action: failed', 'Status: 5.0.0', 'Diagnostic-Code: smtp; 550 User unknown'],
      ['<ann@rcpt.example>: host mx.rcpt.example[192.0.2.1] said: 550 User unknown (in reply to end of DATA command)'],
    ),
  ],
  [
    'Postfix, over quota',
    'soft',
    dsn(['Action: failed', 'Status: 5.2.2', 'Diagnostic-Code: smtp; 552 5.2.2 <ann@rcpt.example>: user is over quota']),
  ],
  [
    'a full mailbox with the code of no mailbox',
    'soft',
    dsn([
      'Action: failed',
      'Status: 5.1.1',
      'Diagnostic-Code: smtp; 550 5.1.1 <ann@rcpt.example> mailbox is full, user unknown to the quota service',
    ]),
  ],
  [
    'preferences with the code of no mailbox',
    'soft',
    dsn(['Action: failed', 'Status: 5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 Message refused by recipient preferences']),
  ],
  [
    'policy with the code of no mailbox',
    'soft',
    dsn(['Action: failed', 'Status: 5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 Rejected for policy reasons']),
  ],
  [
    'size with the code of no mailbox',
    'soft',
    dsn(['Action: failed', 'Status: 5.1.1', 'Diagnostic-Code: smtp; 552 5.1.1 message size exceeds the limit of this user']),
  ],
  [
    'a proven code beside our own subject',
    'hard',
    dsn(
      ['Action: failed', 'Status: 5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 No such user'],
      ['<ann@rcpt.example>: 550 5.1.1 No such user (in reply to RCPT TO command)'],
      ['From: shop@us.example', 'To: ann@rcpt.example', 'Subject: Your mailbox is full'],
    ),
  ],
  [
    'a code beside a footer',
    'hard',
    dsn(
      ['Action: failed', 'Status: 5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 unknown user'],
      ['The user does not exist.', '', '--', 'This message has been scanned for viruses and spam by SafeMail.'],
    ),
  ],
  [
    'Exchange Online, no recipient',
    'hard',
    dsn([
      'Action: failed',
      'Status: 5.1.10',
      'Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup',
    ]),
  ],
  [
    'Exchange, no recipient',
    'hard',
    dsn(['Action: failed', 'Status: 5.1.1', 'Diagnostic-Code: smtp;550 5.1.1 RESOLVER.ADR.RecipNotFound; not found']),
  ],
  [
    'Exchange Online, directory block',
    'hard',
    dsn([
      'Action: failed',
      'Status: 5.4.1',
      'Diagnostic-Code: smtp;550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [X.eur.prod.protection.outlook.com]',
    ]),
  ],
  [
    'Exchange, not allowed to send',
    'soft',
    dsn(['Action: failed', 'Status: 5.7.1', 'Diagnostic-Code: smtp;550 5.7.1 RESOLVER.RST.AuthRequired; authentication required']),
  ],
  [
    'Exchange, full',
    'soft',
    dsn([
      'Action: failed',
      'Status: 5.2.2',
      'Diagnostic-Code: smtp;554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException',
    ]),
  ],
  [
    'Domino, in its own type',
    'hard',
    dsn(['Action: failed', 'Status: 5.0.0', 'Diagnostic-Code: X-Notes; User ann (ann@rcpt.example) not listed in Domino Directory']),
  ],
  ['GroupWise', 'hard', dsn(['Action: failed', 'Status: 5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 User unknown (1_rcpt)'])],
  ['Zimbra, full', 'soft', dsn(['Action: failed', 'Status: 4.2.2', 'Diagnostic-Code: smtp; 452 4.2.2 Over quota'])],
  [
    'Gmail, no account',
    'hard',
    dsn([
      'Action: failed',
      'Status: 5.1.1',
      "Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please try 550-5.1.1 double-checking the recipient's email address for typos",
    ]),
  ],
  [
    'Gmail, out of storage',
    'soft',
    dsn(['Action: failed', 'Status: 5.2.2', "Diagnostic-Code: smtp; 552-5.2.2 The recipient's inbox is out of storage space"]),
  ],
  [
    'Gmail, unauthenticated',
    'soft',
    dsn([
      'Action: failed',
      'Status: 5.7.26',
      'Diagnostic-Code: smtp; 550-5.7.26 This mail has been blocked because the sender is unauthenticated.',
    ]),
  ],
  [
    'Mimecast, policy',
    'soft',
    dsn([
      'Action: failed',
      'Status: 5.0.0',
      'Diagnostic-Code: smtp; 554 Email rejected due to security policies - https://community.mimecast.com/docs/DOC-1369#554',
    ]),
  ],
  [
    'Barracuda, spam',
    'soft',
    dsn([
      'Action: failed',
      'Status: 5.0.0',
      'Diagnostic-Code: smtp; 550 permanent failure for one or more recipients (ann@rcpt.example:blocked)',
    ]),
  ],
  ['Proofpoint, no user', 'hard', dsn(['Action: failed', 'Status: 5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 User Unknown'])],
  [
    'no such domain',
    'hard',
    dsn([
      'Action: failed',
      'Status: 5.4.4',
      'Diagnostic-Code: X-Postfix; Host or domain name not found. Name service error for name=rcpt.example type=A: Host not found',
    ]),
  ],
  [
    'a null MX',
    'hard',
    dsn(['Action: failed', 'Status: 5.1.0', 'Diagnostic-Code: X-Postfix; Domain rcpt.example does not accept mail (nullMX)']),
  ],
  [
    'expired',
    'soft',
    dsn(['Action: failed', 'Status: 4.4.1', 'Diagnostic-Code: X-Postfix; connect to mx.rcpt.example[192.0.2.1]:25: Connection timed out']),
  ],
  ['late', 'delayed', dsn(['Action: delayed', 'Status: 4.4.1', 'Diagnostic-Code: smtp; 451 4.4.1 timeout'])],
  ['delivered', 'nothing', dsn(['Action: delivered', 'Status: 2.0.0', 'Diagnostic-Code: smtp; 250 2.0.0 ok'])],
  [
    'an address that the original recipient forwards to',
    'soft',
    dsn([
      'Final-Recipient: rfc822; a.nn@inner.example',
      'Original-Recipient: rfc822; ann@rcpt.example',
      'Action: failed',
      'Status: 5.1.1',
      'Diagnostic-Code: smtp; 550 5.1.1 unknown user',
    ]),
  ],
  ['a name without a domain', 'hard', dsn(['Final-Recipient: LOCAL; ann', 'Action: failed', 'Status: 5.1.1'])],
  [
    'two who are both somebody else',
    'nothing',
    dsn([
      'Final-Recipient: rfc822; bob@elsewhere.example',
      'Original-Recipient: rfc822; bea@elsewhere.example',
      'Action: failed',
      'Status: 5.1.1',
    ]),
  ],
  ['a status that is wrapped', 'hard', wrapped(dsn(['Action: failed', 'Status: 5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 unknown']), [])],
  [
    'a status that is wrapped with some words',
    'hard',
    wrapped(dsn(['Action: failed', 'Status: 5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 unknown']), ['The attached report is for you.']),
  ],
  // A reply that is quoted.
  [
    'Exim',
    'hard',
    text(
      daemon,
      'Mail delivery failed: returning message to sender',
      'This message was created automatically by mail delivery software.',
      '',
      'A message that you sent could not be delivered to one or more of its',
      'recipients. This is a permanent error. The following address(es) failed:',
      '',
      '  ann@rcpt.example',
      '    host mx.rcpt.example [192.0.2.1]',
      '    SMTP error from remote mail server after RCPT TO:<ann@rcpt.example>:',
      '    550 No Such User Here',
      '',
      '------ This is a copy of the message, including all the headers. ------',
      '',
      ...ours,
      'Subject: Your mailbox is full',
    ),
  ],
  [
    'Exim, after the data',
    'soft',
    text(
      daemon,
      'Mail delivery failed: returning message to sender',
      'The following address(es) failed:',
      '',
      '  ann@rcpt.example',
      '    SMTP error from remote mail server after end of data:',
      '    550 User unknown',
    ),
  ],
  [
    'Exim, no route',
    'hard',
    text(
      daemon,
      'Mail delivery failed: returning message to sender',
      'The following address(es) failed:',
      '',
      '  ann@rcpt.example',
      '    Unrouteable address',
    ),
  ],
  [
    'Exim, too old',
    'soft',
    text(daemon, 'Mail delivery failed: returning message to sender', '  ann@rcpt.example', '    retry timeout exceeded'),
  ],
  [
    'Exim, late',
    'delayed',
    text(
      daemon,
      'Warning: message 1abc delayed 24 hours',
      'A message that you sent has not yet been delivered to one or more of its',
      'recipients after more than 24 hours on the queue.',
      '',
      '  ann@rcpt.example',
      '',
      'No action is required on your part. Delivery attempts will continue.',
    ),
  ],
  [
    'qmail, remote',
    'hard',
    text(
      'MAILER-DAEMON@mx.example',
      'failure notice',
      'Hi. This is the qmail-send program at mx.example.',
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      "This is a permanent error; I've given up. Sorry it didn't work out.",
      '',
      '<ann@rcpt.example>:',
      '192.0.2.1 does not like recipient.',
      'Remote host said: 550 no such user',
      'Giving up on 192.0.2.1.',
      '',
      '--- Below this line is a copy of the message.',
      '',
      ...ours,
    ),
  ],
  [
    'qmail, local',
    'hard',
    text(
      'MAILER-DAEMON@mx.example',
      'failure notice',
      'Hi. This is the qmail-send program at mx.example.',
      '',
      '<ann@rcpt.example>:',
      'Sorry, no mailbox here by that name. (#5.1.1)',
      '',
      '--- Below this line is a copy of the message.',
    ),
  ],
  [
    'qmail, full',
    'soft',
    text('MAILER-DAEMON@mx.example', 'failure notice', '<ann@rcpt.example>:', 'Recipient mailbox has exceeded its disk quota. (#5.2.2)'),
  ],
  [
    'Sendmail',
    'hard',
    text(
      'Mail Delivery Subsystem <MAILER-DAEMON@mx.example>',
      'Returned mail: see transcript for details',
      '   ----- The following addresses had permanent fatal errors -----',
      '<ann@rcpt.example>',
      '    (reason: 550 5.1.1 <ann@rcpt.example>... User unknown)',
      '',
      '   ----- Transcript of session follows -----',
      '... while talking to mx.rcpt.example.:',
      '>>> RCPT To:<ann@rcpt.example>',
      '<<< 550 5.1.1 <ann@rcpt.example>... User unknown',
      '550 5.1.1 <ann@rcpt.example>... User unknown',
    ),
  ],
  [
    'Courier',
    'hard',
    text(
      '"Courier mail server at mx.example" <@>',
      'NOTICE: mail delivery status.',
      'Your message to the following recipients cannot be delivered:',
      '',
      '<ann@rcpt.example>:',
      '    mx.rcpt.example [192.0.2.1]:',
      '>>> RCPT TO:<ann@rcpt.example>',
      '<<< 550 User unknown.',
    ),
  ],
  [
    'MDaemon',
    'hard',
    text(
      'MDaemon <MDaemon@mx.example>',
      'Permanent Delivery Failure',
      'The attached message had PERMANENT fatal delivery errors!',
      '',
      '> ann@rcpt.example',
      '',
      '--> RCPT To:<ann@rcpt.example>',
      '<-- 550 <ann@rcpt.example>, Recipient unknown',
    ),
  ],
  [
    'Yahoo',
    'hard',
    text(
      'MAILER-DAEMON@yahoo.example',
      'Failure Notice',
      'Sorry, we were unable to deliver your message to the following address.',
      '',
      '<ann@rcpt.example>:',
      '550: 5.1.1 <ann@rcpt.example>: Recipient address rejected: User unknown',
    ),
  ],
  [
    'iPlanet',
    'hard',
    text(
      'Internet Mail Delivery <postmaster@mx.example>',
      'Delivery Notification: Delivery has failed',
      'Your message cannot be delivered to the following recipients:',
      '',
      '  Recipient address: ann@rcpt.example',
      '  Reason: Remote SMTP server has rejected address',
      '  Diagnostic code: smtp;550 unknown user',
      '  SMTP:RCPT host 192.0.2.1: 550 unknown user ann',
    ),
  ],
  ['a command by name', 'hard', text(daemon, 'Undeliverable', 'ann@rcpt.example: error in SMTP command RCPT: 550 no such user here')],
  [
    'a command by name, the data',
    'soft',
    text(daemon, 'Undeliverable', 'ann@rcpt.example: error in SMTP command DATA: 550 no such user here'),
  ],
  [
    'James, full, below a line that introduces it',
    'soft',
    text(
      'postmaster@mx.example',
      '[BOUNCE]',
      "I'm afraid I wasn't able to deliver your message to the following addresses.",
      '',
      'Failed recipient(s):',
      'ann@rcpt.example',
      '',
      'Error message below:',
      '550 5.2.2 mailbox is full, user unknown',
    ),
  ],
  [
    'a block for the command, RCPT',
    'hard',
    text(
      'Mailer-Daemon <Mailer-Daemon@mx.example>',
      'failure notice',
      '-------mail to',
      'ann@rcpt.example',
      '-------server message',
      '550 unknown user <ann@rcpt.example>',
      '',
      '-------SMTP command',
      'RCPT',
      '-------original message',
      ...ours,
    ),
  ],
  [
    'a dialogue with arrows the other way',
    'hard',
    text(
      '"InterScan MSS" <imss@mx.example>',
      'Mail could not be delivered',
      'Sent <<< RCPT TO:<ann@rcpt.example>',
      'Received >>> 550 <ann@rcpt.example>... user unknown',
      '',
      'Unable to deliver message to <ann@rcpt.example>',
    ),
  ],
  ['a relay that is closed', 'soft', text(daemon, 'Undeliverable', '<ann@rcpt.example>: 554 5.7.1 Relay access denied')],
  [
    'a blocklist',
    'soft',
    text(
      daemon,
      'Undeliverable',
      '<ann@rcpt.example>: 554 5.7.1 Client host [192.0.2.9] blocked using zen.example; user unknown is what it says to all',
    ),
  ],
  // Own words.
  [
    'Exchange 5.5',
    'hard',
    text(
      'System Administrator <postmaster@mx.example>',
      'Undeliverable: Order',
      'Your message',
      '',
      '  To:      ann@rcpt.example',
      '  Subject: Order',
      '',
      'did not reach the following recipient(s):',
      '',
      'ann@rcpt.example on Sat, 21 Nov 2026 08:00:00',
      '    The recipient name is not recognized',
    ),
  ],
  [
    'IMail',
    'hard',
    text(
      'Postmaster <postmaster@mx.example>',
      'Undeliverable Mail',
      'Unknown user: ann@rcpt.example',
      '',
      'Original message follows.',
      '',
      ...ours,
    ),
  ],
  [
    'IMail, full',
    'soft',
    text('Postmaster <postmaster@mx.example>', 'Undeliverable Mail', 'User mailbox exceeds allowed size: ann@rcpt.example'),
  ],
  [
    'Notes',
    'hard',
    text(
      'mx/Example <mail@mx.example>',
      'DELIVERY FAILURE: User ann (ann@rcpt.example) not listed in Domino Directory',
      'Your message',
      '  Subject: Order',
      'was not delivered to:',
      '  ann@rcpt.example',
      'because:',
      '  User ann (ann@rcpt.example) not listed in Domino Directory',
    ),
  ],
  [
    'a virus filter',
    'soft',
    text(
      'antivirus@mx.example',
      'Virus found in a message that you sent',
      'The message to ann@rcpt.example was not delivered, since it is infected.',
    ),
  ],
  [
    'a Japanese carrier',
    'hard',
    {
      from: daemon,
      subject: 'Mail System Error - Returned Mail',
      fields: ['Content-Type: text/plain; charset=ISO-2022-JP', 'Content-Transfer-Encoding: 7bit'],
      body: [japanese.toString('latin1')],
    },
  ],
  [
    'a Japanese carrier, with no charset',
    'hard',
    { from: daemon, subject: 'Mail System Error - Returned Mail', fields: ['Content-Transfer-Encoding: base64'], body: [base64(japanese)] },
  ],
  [
    'Shift_JIS by its other name',
    'hard',
    {
      from: daemon,
      subject: 'Returned Mail',
      fields: ['Content-Type: text/plain; charset=cp932', 'Content-Transfer-Encoding: base64'],
      body: [base64(Buffer.concat([Buffer.from([0x88, 0xb6, 0x90, 0xe6, 0x95, 0x73, 0x96, 0xbe]), Buffer.from(': ann@rcpt.example')]))],
    },
  ],
  [
    'German',
    'hard',
    text(
      'Postmaster <postmaster@mx.example>',
      'Unzustellbar: Bestellung',
      'Ihre Nachricht an ann@rcpt.example konnte nicht zugestellt werden. Der Empfänger existiert nicht.',
    ),
  ],
  [
    'French, full',
    'soft',
    text(
      'Postmaster <postmaster@mx.example>',
      'Message non remis',
      "Votre message à ann@rcpt.example n'a pas pu être remis : la boîte est pleine.",
    ),
  ],
  [
    'Chinese',
    'hard',
    text(
      'PostMaster <postmaster@mx.example>',
      '系统退信',
      '抱歉，您的邮件被退回来了。',
      '收件人: ann@rcpt.example',
      '退信原因: 收件人不存在',
    ),
  ],
  [
    'reasons that there may be',
    'soft',
    text(daemon, 'Undeliverable', 'ann@rcpt.example could not be reached. Possible reasons: the user is unknown, or the mailbox is full.'),
  ],
  // A reply beside its phase.
  ...[
    '<ann@rcpt.example>: host mx.rcpt.example said: 550 (in reply to RCPT TO command) unknown user',
    '<ann@rcpt.example>: host mx.rcpt.example said (in reply to RCPT TO command): 550 unknown user',
    '<ann@rcpt.example>: host mx.rcpt.example (in reply to RCPT TO command) 550 unknown user',
    '<ann@rcpt.example>: unknown user, 550 (in reply to RCPT TO command)',
    '<ann@rcpt.example>:\n(in reply to RCPT TO command)\n550 unknown user',
    '<ann@rcpt.example>:\n550 unknown user\n(in reply to RCPT TO command)',
    '<ann@rcpt.example>:\n550-(in reply to RCPT TO command)\n550 unknown user',
    'Your message to ann@rcpt.example was refused during RCPT TO: 550 no such user',
    'ann@rcpt.example\n  after RCPT TO 550 unknown user',
  ].map((said): [string, Outcome, Mail] => [said, 'hard', text(daemon, 'Undelivered mail', ...said.split('\n'))]),
  ...[
    '<ann@rcpt.example>: host mx.rcpt.example said (in reply to end of DATA command): 550 unknown user',
    '<ann@rcpt.example>: host mx.rcpt.example (in reply to end of DATA command) 550 unknown user',
    '<ann@rcpt.example>: unknown user, 550 (in reply to end of DATA command)',
    '<ann@rcpt.example>:\n550 unknown user\n(in reply to MAIL FROM command)',
  ].map((said): [string, Outcome, Mail] => [said, 'soft', text(daemon, 'Undelivered mail', ...said.split('\n'))]),
  [
    'a reply whose words the text has in front of it, with the phase',
    'hard',
    dsn(
      ['Action: failed', 'Status: 5.0.0', 'Diagnostic-Code: smtp; 550 unknown user'],
      ['(in reply to RCPT TO command)', '550 unknown user'],
    ),
  ],
  // Paragraphs make no phrase together.
  [
    'a command before another paragraph',
    'hard',
    text(daemon, 'Undelivered mail', '<ann@rcpt.example>: 550 5.1.1', 'RCPT TO command', '', 'unknown user'),
  ],
  [
    'two places that name the recipient',
    'hard',
    text(daemon, 'Undelivered mail', '<ann@rcpt.example>: 550 5.1.1 (in reply to RCPT TO command)', '', '<ann@rcpt.example>: unknown user'),
  ],
  // Words that ask to send again.
  ...[
    ['Japanese', '配信エラー', 'メールを配信できませんでした。', '宛先をご確認の上、再送してください。'],
    ['German', 'Unzustellbar', 'Ihre Nachricht konnte nicht zugestellt werden, auch nicht nach einer Verzögerung von zwei Stunden.'],
    ['French', 'Message non remis', "Votre message n'a pas pu être remis. Aucune nouvelle tentative ne sera effectuée."],
    [
      'English',
      'Undelivered mail',
      'Your message could not be delivered. Please correct the address and retry, delivery will continue to fail.',
    ],
  ].map(([language = '', subject = '', ...words]): [string, Outcome, Mail] => [
    `a refusal beside words of a delay, ${language}`,
    'hard',
    text(
      daemon,
      subject,
      ...words,
      '',
      '<ann@rcpt.example>: host mx.rcpt.example said: 550 5.1.1 User unknown (in reply to RCPT TO command)',
    ),
  ]),
  [
    'a failure in Japanese that asks to send again',
    'soft',
    text(daemon, '配信エラー', '配信できませんでした。再送してください。', 'ann@rcpt.example'),
  ],
  ['a delay in Japanese', 'delayed', text(daemon, '遅延', 'まだ配信できません。再送を試みます。', 'ann@rcpt.example')],
  [
    'a delay in Japanese, in other words',
    'delayed',
    text(daemon, '遅延', '自動的に再送しますので、再送する必要はありません。', 'ann@rcpt.example'),
  ],
  // Domino and Notes as they write in other languages.
  ...[
    ['Japanese, as translated', 'ユーザー ann (ann@rcpt.example) は Domino ディレクトリにありません'],
    ['Japanese', 'ユーザー ann (ann@rcpt.example) が Domino ディレクトリには見つかりません'],
    ['Japanese, Notes', 'ann@rcpt.example\nディレクトリのリストにありません'],
    ['French', "L'utilisateur ann (ann@rcpt.example) est non répertorié dans l'annuaire Domino"],
    ['Spanish', 'El usuario ann (ann@rcpt.example) no se encuentra en el Directorio de Domino'],
  ].map(([language = '', finding = '']): [string, Outcome, Mail] => [
    `Domino, ${language}`,
    'hard',
    text(daemon, `DELIVERY FAILURE: ${finding.split('\n').at(-1)}`, 'ann@rcpt.example', '', ...finding.split('\n')),
  ]),
  // Footers.
  ...[
    'This message was scanned for viruses and is believed to be clean.',
    'Scanned by MailScanner for spam and viruses.',
    'Diese E-Mail wurde auf Viren und Spam geprüft.',
    'Ce message a été vérifié par un antivirus, contre les virus et le spam.',
    'Este mensaje ha sido analizado por nuestro antivirus en busca de virus y spam.',
    'Проверено на вирусы и спам.',
  ].flatMap((footer): [string, Outcome, Mail][] => [
    [
      `a status alone beside: ${footer}`,
      'hard',
      dsn(['Action: failed', 'Status: 5.1.1'], ['Your message could not be delivered.', '', footer]),
    ],
    [`a finding beside: ${footer}`, 'hard', text(daemon, 'Undeliverable', 'The user ann@rcpt.example does not exist.', footer)],
    [`nothing but: ${footer}`, 'soft', text(daemon, 'Undeliverable', 'Your message to ann@rcpt.example could not be delivered.', footer)],
  ]),
  // Known by the token alone.
  [
    'our message, under another subject',
    'soft',
    {
      subject: 'Hello',
      fields: ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=m'],
      from: 'gate@mx.example',
      body: ['--m', '', 'Sorry.', '--m', 'Content-Type: message/rfc822', '', ...ours, '', 'x', '--m--'],
    },
  ],
  ['nothing that is understood', 'soft', text('MAILER-DAEMON@mx.example', 'x', 'E 17')],
  [
    'a name of an alias in prose',
    'hard',
    text(
      daemon,
      'failure notice',
      '<a.nn@inner.example>:',
      'mx.inner.example does not like recipient.',
      'Remote host said: 550 5.1.1 unknown',
    ),
  ],
  [
    'whom to turn to',
    'hard',
    text(
      daemon,
      'Undelivered mail',
      'Your mail was refused (in reply to RCPT TO): 550 5.1.1 unknown user',
      'Write to helpdesk@mx.example if you doubt it.',
    ),
  ],
  // No report.
  [
    'somebody who is away',
    'nothing',
    text('Ann <ann@rcpt.example>', 'Re: Order', 'I am back on Monday. Please write to bob@rcpt.example.'),
  ],
  [
    'an automatic reply',
    'nothing',
    {
      from: 'Ann <a@rcpt.example>',
      subject: 'Order',
      fields: ['Auto-Submitted: auto-replied'],
      body: ['Thank you. Mail that could not be delivered: call us.'],
    },
  ],
  [
    'a postmaster who answers by himself',
    'nothing',
    {
      from: 'Postmaster <postmaster@rcpt.example>',
      subject: 'Re: Order',
      fields: ['Auto-Submitted: auto-replied'],
      body: ['Thank you for your mail. It is read on Monday.'],
    },
  ],
  [
    'an automatic reply with our message',
    'nothing',
    {
      from: 'Ann <ann@rcpt.example>',
      subject: 'Order',
      fields: ['Auto-Submitted: auto-replied', 'MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=m'],
      body: ['--m', '', 'I am back on Monday.', '--m', 'Content-Type: message/rfc822', '', ...ours, '', 'x', '--m--'],
    },
  ],
  [
    'Outlook, away',
    'nothing',
    {
      from: 'Ann <ann@rcpt.example>',
      subject: 'Automatic reply: Order',
      fields: ['X-MS-Exchange-Inbox-Rules-Loop: ann@rcpt.example'],
      body: ['I have left. My address does not exist any more.'],
    },
  ],
  [
    'a ticket',
    'nothing',
    {
      from: 'Help <help@rcpt.example>',
      subject: '[#12] Order',
      fields: ['X-RT-Ticket: 12', 'Auto-Submitted: auto-replied'],
      body: ['We have your mail.'],
    },
  ],
  [
    'a list that holds it',
    'nothing',
    {
      from: 'list-owner@rcpt.example',
      subject: 'Your message awaits approval',
      fields: ['Auto-Submitted: auto-generated'],
      body: ['Your mail to ann@rcpt.example is being held until the moderator reviews it for approval.'],
    },
  ],
]

const about = { forwardPath: 'ann@rcpt.example', isFromSystem: true }
const recipient = { forwardPath: 'ann@rcpt.example', state: 'delivered' as const, isInHand: false, deliveredAt: 1, complainedAt: null }

async function outcomeOf({ from = daemon, subject = 'Undelivered Mail Returned to Sender', fields = [], body }: Mail): Promise<Outcome> {
  const document = [`From: ${from}`, 'To: b0@us.example', `Subject: ${subject}`, ...fields, '', ...body, ''].join('\r\n')
  const isLatin = document.includes('\x1b')
  const reading = parseFeedback(await readReturnedMessage(Buffer.from(document, isLatin ? 'latin1' : 'utf8'), bounceVocabulary()), about)
  const consequence = matchFeedback(reading, recipient, 'envelope')
  if (consequence.type === 'bounced') return consequence.bounce.hard ? 'hard' : 'soft'
  return consequence.type === 'nothing' && consequence.result === 'delayed' ? 'delayed' : 'nothing'
}

describe('mail to the address of a recipient’s bounces', () => {
  it.each(reports)('of %s: %s', async (_, outcome, mail) => expect(await outcomeOf(mail)).toBe(outcome))
})
