import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Refusal } from '../../src/mail/bounce-parser/refusal.ts'
import { parseReply } from '../../src/platform/dns/dns-message.ts'
import { ReportFault } from '../../src/mail-back/domain-report/domain-report.ts'
import { readReportMail } from '../../src/mail-back/domain-report/read-report-mail.ts'
import { unpackReport } from '../../src/mail-back/domain-report/unpack-report.ts'
import { parseDmarcReport } from '../../src/mail-back/domain-report/parse-dmarc-report.ts'
import { parseTlsReport } from '../../src/mail-back/domain-report/parse-tls-report.ts'
import { SternaError } from '../../src/platform/errors.ts'
import { parseBounceText } from '../../src/mail/bounce-parser/parse-bounce-text.ts'
import { parseComplaint } from '../../src/mail/bounce-parser/parse-complaint.ts'
import { parseDsn } from '../../src/mail/bounce-parser/parse-dsn.ts'
import { parseFeedback } from '../../src/mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../../src/mail/bounce-parser/read-returned-message.ts'
import { bounceRules, bounceVocabulary } from '../../src/mail/bounce-vocabulary.ts'
import type { ReportedRecipient } from '../../src/mail/bounce-parser/feedback.ts'
import { returnPathRecipient } from '../../src/mail-back/feedback/return-path-recipient.ts'
import type { ReturnedMessage } from '../../src/mail/bounce-parser/returned-message.ts'
import { parseHeaderBlock } from '../../src/mail/message/header-block.ts'
import { textFromHtml } from '../../src/mail/message/text-from-html.ts'
import { parseAddress } from '../../src/platform/smtp/address.ts'
import { parseMailboxList } from '../../src/platform/smtp/mailbox.ts'
import { decodeHeaderText } from '../../src/platform/smtp/encoded-word.ts'
import { ReplyReader } from '../../src/platform/smtp/reply.ts'
import { parseMailCommand, parseRcptCommand } from '../../src/mail-in/smtp-server/envelope-command.ts'
import { parseTemplate } from '../../src/mail/template/parse-template.ts'
import { messageOfText, textOfMessage } from './message-text.ts'

/** Something of ours that reads what strangers wrote. */
export interface Target {
  /** Inputs to begin with. */
  seeds(): Promise<Buffer[]>
  /** bytes of the longest input */
  longest: number
  /** Reads it, and says in a few words what came out: an input with a new answer is changed further. */
  run(input: Buffer): Promise<string> | string
}

const fixtures = new URL('../../test/fixtures', import.meta.url).pathname
const filesIn = (folder: string): Buffer[] =>
  readdirSync(join(fixtures, folder))
    .filter((name) => !folder.match(/dsn|arf|freeform/) || name.endsWith('.eml'))
    .map((name) => readFileSync(join(fixtures, folder, name)))
const text = (input: Buffer): string => input.toString('latin1')
const lines = (...all: string[]): Promise<Buffer[]> => Promise.resolve(all.map((line) => Buffer.from(line)))

const mails = (): Buffer[] => [...filesIn('dsn'), ...filesIn('arf'), ...filesIn('freeform')]
const readMails = async (): Promise<Buffer[]> => {
  const messages = await Promise.all(mails().map((mail) => readReturnedMessage(mail, bounceVocabulary())))
  return messages.map((message) => Buffer.from(textOfMessage(message)))
}

const ofRecipients = (recipients: readonly ReportedRecipient[] | null): string => {
  const [first] = recipients ?? []
  return `${Math.min(recipients?.length ?? -1, 4)} ${first?.action} ${first?.hard} ${first?.category} ${first?.status?.slice(0, 3)} ${first?.smtpCode}`
}

/** A part of a feedback message that is read from the message's text. */
const messageTarget = (read: (message: ReturnedMessage) => string): Target => ({
  seeds: readMails,
  longest: 128 * 1024,
  run: (input) => read(messageOfText(input.toString())),
})

const phases = ['banner', 'ehlo', 'starttls', 'mail', 'rcpt', 'data', 'dot', 'report'] as const

/** `PHASE CODE ENHANCED HOST|TEXT`. */
function refusalOf(input: string): Refusal {
  const [facts = '', ...words] = input.split('|')
  const [phase = '', code = '', enhancedStatus = '', host = ''] = facts.split(' ')
  return {
    phase: phases.find((one) => one === phase) ?? 'report',
    code: Number.isInteger(Number(code)) && code !== '' ? Number(code) : null,
    enhancedStatus: enhancedStatus === '-' ? null : enhancedStatus,
    remoteHost: host === '' ? null : host.toLowerCase(),
    text: words.join('|'),
  }
}

function classify(input: Buffer): string {
  const refusal = refusalOf(input.toString())
  const { category, hard } = bounceRules().classify(refusal)
  const rule = bounceRules().deciding(refusal)
  return `${category} ${hard} ${'name' in rule ? rule.name : rule.code}`
}

const refusalText = ({ phase, code, enhancedStatus, text: words, remoteHost }: Partial<Refusal>): string =>
  `${phase} ${code ?? ''} ${enhancedStatus ?? '-'} ${remoteHost ?? ''}|${words}`

async function readWhole(input: Buffer): Promise<string> {
  let message: ReturnedMessage
  try {
    message = await readReturnedMessage(input, bounceVocabulary())
  } catch (error) {
    // What it declares; the child that runs it makes `invalid_message` of it. A TypeError would be a fault of ours.
    if ((error as Error).constructor === Error) return 'unreadable'
    throw error
  }
  const feedback = parseFeedback(message)
  return `${feedback.class} ${ofRecipients(feedback.recipients)} ${Math.min(message.parts.length, 8)}`
}

/** What a report of domains may be refused with. */
async function unlessFaulty(read: () => Promise<string> | string): Promise<string> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ReportFault || (error as Error).constructor === Error) return `fault ${(error as Error).message.slice(0, 30)}`
    throw error
  }
}

function readReplies(input: Buffer): string {
  const reader = new ReplyReader()
  let replies = 0
  for (let start = 0; start < input.length; start += 61) {
    reader.push(input.subarray(start, start + 61))
    for (let reply = reader.take(); reply; reply = 'fault' in reply ? null : reader.take()) replies++
  }
  return String(Math.min(replies, 8))
}

const key = Buffer.alloc(32, 1)
const shape = (value: unknown): string =>
  JSON.stringify(value, (name, each) => (name === 'text' || typeof each === 'string' ? typeof each : each)).slice(0, 60)

export const targets: Record<string, Target> = {
  dsn: messageTarget((message) => ofRecipients(parseDsn(message))),
  arf: messageTarget((message) => {
    const complaint = parseComplaint(message)
    return `${complaint?.complaint.feedbackType.slice(0, 12)} ${complaint?.addresses.length} ${complaint?.reversePath === null}`
  }),
  text: messageTarget((message) => ofRecipients(parseBounceText(message))),
  classify: {
    seeds: () => lines(...bounceRules().all.map(({ example }) => refusalText(example ?? {}))),
    longest: 16 * 1024,
    run: classify,
  },
  mime: { seeds: () => Promise.resolve(mails()), longest: 512 * 1024, run: readWhole },
  dmarc: {
    seeds: () => Promise.resolve(filesIn('dmarc')),
    longest: 256 * 1024,
    run: (input) => unlessFaulty(() => `rows ${parseDmarcReport(input.toString()).rows.length}`),
  },
  tls: {
    seeds: () => Promise.resolve(filesIn('tls')),
    longest: 256 * 1024,
    run: (input) =>
      unlessFaulty(
        () =>
          `rows ${parseTlsReport(input.toString())
            .map(({ rows }) => rows.length)
            .join(',')
            .slice(0, 20)}`,
      ),
  },
  unpack: {
    seeds: async () => packedReports(),
    longest: 64 * 1024,
    run: (input) => unlessFaulty(async () => (await unpackReport(input)).language),
  },
  'report-mail': {
    seeds: async () =>
      (await packedReports()).map((report) =>
        Buffer.from(`Content-Type: application/gzip\nContent-Transfer-Encoding: base64\n\n${report.toString('base64')}\n`),
      ),
    longest: 64 * 1024,
    run: (input) => unlessFaulty(async () => shape(await readReportMail(input))),
  },
  header: {
    seeds: () => Promise.resolve(mails()),
    longest: 256 * 1024,
    run: (input) => unlessRefused(() => shape(parseHeaderBlock(input))),
  },
  words: {
    seeds: () =>
      lines('=?utf-8?B?w6k=?= =?iso-8859-1?Q?=E9_a?= b', '=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=', '=?utf-8?q?=C3?= =?utf-8?q?=A9?='),
    longest: 64 * 1024,
    run: (input) => String(decodeHeaderText(text(input)).length > input.length),
  },
  address: {
    seeds: () =>
      lines(
        'Ann <ann@example.com>, "Bob \\" x"@[192.0.2.1]',
        'a(comment)@xn--bcher-kva.example',
        'group: a@b.example, c@d.example;',
        '日本 <用户@例子.广告>',
      ),
    longest: 64 * 1024,
    run: (input) => {
      const value = input.toString()
      return [parseAddress(value), parseMailboxList(value, 'strict'), parseMailboxList(value, 'lenient')].map(shape).join('')
    },
  },
  command: {
    seeds: () =>
      lines(
        'MAIL FROM:<a@b.example> SIZE=100 BODY=8BITMIME SMTPUTF8 RET=HDRS ENVID=x+2By',
        'MAIL FROM:<a@b.example> REQUIRETLS HOLDUNTIL=2027-01-15T08:00:10Z BY=3600;R MT-PRIORITY=-3',
        'RCPT TO:<"a b"@c.example> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;a+40b',
      ),
    longest: 16 * 1024,
    run: (input) => {
      const mail = parseMailCommand(input, true, 1_800_000_000_000)
      return shape(mail) + ('code' in mail ? '' : shape(parseRcptCommand(input, mail)))
    },
  },
  recipient: {
    seeds: () => lines('b01j8x4m3k2n5p7q9r1s3t5v7w9000000000000000000000@relay.example', 'postmaster@relay.example', 'fbl@relay.example'),
    longest: 4096,
    run: (input) =>
      shape(
        returnPathRecipient(input.toString(), {
          isOurs: (domain) => domain === 'relay.example',
          isVerified: () => true,
          tokenKeys: () => [key],
          now: 0,
        }),
      ),
  },
  reply: {
    seeds: () => lines('250-a\r\n250 b\r\n', '550 5.1.1 x\n', '220 mx ESMTP\r\n421 4.3.2 bye\r\n'),
    longest: 64 * 1024,
    run: readReplies,
  },
  dns: {
    seeds: async () => [
      Buffer.from('00018180000100010000000007657861' + '6d706c6503636f6d00000f0001c00c000f00010000003c0009000a046d61696cc00c', 'hex'),
    ],
    longest: 4096,
    run: (input) => shape(parseReply(input)?.packet.answers ?? null),
  },
  html: {
    seeds: () =>
      lines(
        '<html><body><h1>A</h1><p>b <a href="https://example.com">c</a><ul><li>d</ul><table><tr><td>e</table><pre>f</pre>&amp;&#233;</body>',
        '<style>.a, p#b { display:none !important } @media print { i { opacity:0 } }</style><p class="a" id=b>x<p>y\u200c\u00ad</p>',
        '<td style="font:0/0 a"><div style="max-height:0;overflow:hidden" hidden data-skip-in-text="true">x</td><ul><li>y',
      ),
    longest: 512 * 1024,
    run: (input) => String(Math.min(30, textFromHtml(input.toString()).length)),
  },
  template: {
    seeds: () => lines('Hello {{name}}, {{#items}}{{title}} {{^sold}}{{{price}}}{{/sold}}{{/items}}{{! c }}'),
    longest: 64 * 1024,
    run: (input) => unlessRefused(() => shape(parseTemplate(input.toString()))),
  },
}

async function packedReports(): Promise<Buffer[]> {
  const { gzipSync } = await import('node:zlib')
  return [...filesIn('dmarc'), ...filesIn('tls')].flatMap((report) => [gzipSync(report), report])
}

function unlessRefused(read: () => string): string {
  try {
    return read()
  } catch (error) {
    if (error instanceof SternaError) return error.code
    throw error
  }
}
