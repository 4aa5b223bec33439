import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { simpleParser } from 'mailparser'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { dnsResolver, type DnsResolver } from '../../src/platform/dns/dns-resolver.ts'
import { startFakeMx, type FakeMx, type MxMessage } from '../support/fake-mx.ts'
import {
  sendByDma,
  sendByNullmailer,
  startRelayingExim,
  startRelayingOpensmtpd,
  startRelayingPostfix,
  type Smarthost,
} from '../support/relaying-systems.ts'
import { settableClock } from '../support/settable-clock.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

/**
 * The clients that apps send with hand over the same mail: 8-bit text with a long line, a subject and a file name beyond ASCII, and
 * an attachment. What arrives must verify, and be the same when it is decoded.
 */

/** Where it arrives. */
const sinks: { name: string; host: string; extensions?: string[] }[] = [
  { name: 'a host with 8BITMIME', host: '127.0.3.30' },
  { name: 'a host without 8BITMIME', host: '127.0.3.32', extensions: ['PIPELINING', 'SIZE 36700160'] },
]

/** bytes; for those that refuse or break what is longer, before it gets to us */
const withinTheStandard = 900
const anyLength = 2_500

interface Sending {
  host: string
  port: number
  tlsPort: number
  key: string
  from: string
  to: string
  subject: string
  filename: string
  /** Files: the text, the attachment, and a message of both, with CRLF and with LF. */
  text: string
  attachment: string
  message: string
  messageLf: string
}

interface Client {
  name: string
  maxLineLength?: number
  /** Resolves when it is handed over, or on its way. */
  send(sending: Sending): Promise<unknown>
}

const scripts = new URL('smtp-clients/', import.meta.url).pathname
const java = ['/usr/share/java/bsh.jar', '/usr/share/java/javax.mail.jar', '/usr/share/java/javax.activation.jar'].join(':')

/** The sending as scripts have it in their environment. */
const environment = ({ host, port, key, from, to, subject, filename, text, attachment, message }: Sending): Record<string, string> => ({
  HOST: host,
  PORT: String(port),
  KEY: key,
  FROM: from,
  TO: to,
  SUBJECT: subject,
  FILENAME: filename,
  TEXT: text,
  ATTACHMENT: attachment,
  MESSAGE: message,
})

const execute = promisify(execFile)
/** Not this test's own Python, PATH and such: those of the system, which Debian's modules belong to. */
const system = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/nonexistent', LANG: 'C.UTF-8' }
const run = (sending: Sending, program: string, words: string[], more: Record<string, string> = {}): Promise<unknown> =>
  execute(program, words, { env: { ...system, ...environment(sending), ...more }, timeout: 50_000 })
const script =
  (program: string, file: string, words: string[] = []) =>
  (sending: Sending): Promise<unknown> =>
    run(sending, program, [...words, join(scripts, file)])

const byNodemailer = (sending: Sending, port: number, secure: boolean): Promise<unknown> =>
  createTransport({
    host: sending.host,
    port,
    secure,
    auth: { user: 'any', pass: sending.key },
    tls: { rejectUnauthorized: false },
  }).sendMail({
    from: sending.from,
    to: sending.to,
    subject: sending.subject,
    text: { path: sending.text },
    attachments: [{ filename: sending.filename, path: sending.attachment }],
  })

/** Hands the message to a mail system that relays it. */
const through =
  (start: (listen: { host: string; port: number }, smarthost: Smarthost) => Promise<{ stop(): unknown }>) =>
  async (sending: Sending): Promise<void> => {
    const listen = { host: '127.0.3.31', port: await freePort() }
    const mailSystem = await start(listen, sending)
    onTestFinished(() => void mailSystem.stop())
    const transport = createTransport({ ...listen, ignoreTLS: true })
    await transport.sendMail({ envelope: { from: sending.from, to: sending.to }, raw: { path: sending.message } })
  }

const handedTo =
  (start: (sent: Smarthost & { file: string; from: string; to: string }) => Promise<{ stop(): unknown }>) =>
  async (sending: Sending): Promise<void> => {
    const mailSystem = await start({ ...sending, file: sending.messageLf })
    onTestFinished(() => void mailSystem.stop())
  }

const gitOptions = (sending: Sending): string[] => [
  '-c',
  'sendemail.smtpSSLCertPath=',
  'send-email',
  '--quiet',
  '--confirm=never',
  '--suppress-cc=all',
  '--no-validate',
  '--8bit-encoding=UTF-8',
  `--from=${sending.from}`,
  `--to=${sending.to}`,
  `--smtp-server=${sending.host}`,
  `--smtp-server-port=${sending.port}`,
  '--smtp-encryption=tls',
  '--smtp-user=any',
  `--smtp-pass=${sending.key}`,
]

const clients: Client[] = [
  { name: 'nodemailer', send: (sending) => byNodemailer(sending, sending.port, false) },
  { name: 'nodemailer with TLS from the first byte', send: (sending) => byNodemailer(sending, sending.tlsPort, true) },
  {
    name: 'msmtp',
    send: (sending) =>
      run(
        sending,
        'sh',
        [
          '-c',
          `msmtp --host="$HOST" --port="$PORT" --tls=on --tls-certcheck=off --auth=plain --user=any --passwordeval='echo $KEY' --from="$FROM" -- "$TO" <"$MESSAGE_LF"`,
        ],
        { MESSAGE_LF: sending.messageLf },
      ),
  },
  {
    name: 'swaks',
    send: (sending) =>
      run(sending, 'swaks', [
        '--server',
        sending.host,
        '--port',
        String(sending.port),
        '-tls',
        '--auth',
        'LOGIN',
        '--auth-user',
        'any',
        '--auth-password',
        sending.key,
        '--from',
        sending.from,
        '--to',
        sending.to,
        '--data',
        `@${sending.messageLf}`,
        '--silent',
        '3',
      ]),
  },
  {
    name: 'curl',
    send: (sending) =>
      run(sending, 'curl', [
        '--silent',
        '--show-error',
        '--insecure',
        '--ssl-reqd',
        '--user',
        `any:${sending.key}`,
        '--mail-from',
        sending.from,
        '--mail-rcpt',
        sending.to,
        '--upload-file',
        sending.message,
        `smtp://${sending.host}:${sending.port}/client.example`,
      ]),
  },
  {
    // A long line makes it encode the whole body anew, with the borders of its parts.
    name: 'git send-email',
    maxLineLength: withinTheStandard,
    send: (sending) => run(sending, 'git', [...gitOptions(sending), sending.messageLf], { GIT_CONFIG_NOSYSTEM: '1' }),
  },
  { name: 'Python, smtplib', send: script('/usr/bin/python3', 'email-message.py') },
  { name: 'Perl, Net::SMTP', send: script('perl', 'net-smtp.pl') },
  { name: 'Perl, Email::Sender', send: script('perl', 'email-sender.pl') },
  { name: 'Ruby, net-smtp', send: script('ruby', 'net-smtp.rb') },
  { name: 'Ruby, mail', send: script('ruby', 'mail.rb') },
  { name: 'PHPMailer', send: script('php', 'phpmailer.php') },
  { name: 'Symfony Mailer', send: script('php', 'symfony.php') },
  { name: 'JavaMail', send: script('java', 'javamail.bsh', ['-cp', java, 'bsh.Interpreter']) },
  {
    name: 'Go, net/smtp',
    send: (sending) =>
      run(sending, '/usr/lib/go-1.19/bin/go', ['run', join(scripts, 'net-smtp.go')], {
        GOCACHE: '/var/cache/sterna-peers/go',
        CGO_ENABLED: '0',
      }),
  },
  { name: 'nullmailer', send: handedTo(sendByNullmailer) },
  // It refuses longer ones.
  { name: 'dma', maxLineLength: withinTheStandard, send: handedTo(sendByDma) },
  // It breaks longer ones.
  { name: 'Postfix', maxLineLength: withinTheStandard, send: through(startRelayingPostfix) },
  // It returns longer ones to their sender.
  { name: 'Exim', maxLineLength: withinTheStandard, send: through(startRelayingExim) },
  { name: 'OpenSMTPD', maxLineLength: withinTheStandard, send: through(startRelayingOpensmtpd) },
]

const from = 'app@sender.example'
const subject = 'Grüße – 你好, Ærø'
const filename = 'Résumé 2.bin'
const attachment = Buffer.from(Array.from({ length: 5_000 }, (_, place) => (place * 7 + (place >> 8)) & 255))
const textWith = (maxLineLength: number): string =>
  [
    'Grüß Gott, 8-bit text: äöü ß 你好 🙂',
    '.a line that begins with a dot',
    '..and one with two',
    '.',
    'From the first word of a line',
    `a long line: ${'länger '.repeat(anyLength)}`.slice(0, maxLineLength - 100).trimEnd(),
    'a = b \t tab',
    '-- ',
    'The end.',
    '',
  ].join('\n')

const base64 = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64')
const messageOf = (to: string, text: string): string =>
  [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: =?UTF-8?B?${base64(subject)}?=`,
    `Message-ID: <${to.replace('rcpt', 'sender')}>`,
    'Date: Sun, 22 Nov 2026 12:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="=_border"',
    '',
    '--=_border',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    '',
    ...text.trimEnd().split('\n'),
    '--=_border',
    'Content-Type: application/octet-stream',
    `Content-Disposition: attachment; filename*=UTF-8''${encodeURIComponent(filename)}`,
    'Content-Transfer-Encoding: base64',
    '',
    ...(base64(attachment).match(/.{1,76}/g) ?? []),
    '--=_border--',
    '',
  ].join('\n')

describe.each(sinks)('to $name', ({ host, extensions }) => {
  const directory = temporaryDirectory()
  let mx: FakeMx
  let relay: TestRelay
  let resolver: DnsResolver

  beforeAll(async () => {
    mx = await startFakeMx({ host, port: await freePort(), ...(extensions ? { extensions } : {}) })
    relay = await startTestRelay(
      { delivery_port: String(mx.port), submission_max_connections_per_address: '100' },
      { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: [host] } },
      // Verifiers go by their own time.
      { clock: settableClock(Date.now()) },
    )
    const { body } = await relay.call('GET', '/api/domains?limit=1')
    const { body: domain } = await relay.call('GET', `/api/domains/${body.data[0].id}`)
    for (const { name, type, value } of domain.records)
      if (type === 'TXT') relay.dns.zone[name] = { txt: [...((relay.dns.zone[name] as { txt?: string[] } | undefined)?.txt ?? []), value] }
    resolver = dnsResolver({ servers: [relay.dns.server] })
  })

  afterAll(async () => {
    resolver.close()
    await relay.stop()
    await mx.close()
    directory.remove()
  })

  function sendingTo(to: string, text: string): Sending {
    const write = (name: string, content: string | Buffer): string => {
      const path = join(directory.path, `${to}-${name}`)
      writeFileSync(path, content)
      return path
    }
    const message = messageOf(to, text)
    return {
      host: '127.0.0.1',
      port: relay.submissionPort,
      tlsPort: relay.relay.addresses.submission[1]?.port ?? 0,
      key: relay.token,
      from,
      to,
      subject,
      filename,
      text: write('text', text),
      attachment: write('attachment', attachment),
      message: write('crlf', message.replaceAll('\n', '\r\n')),
      messageLf: write('lf', message),
    }
  }

  async function arrived(to: string): Promise<Buffer> {
    const find = (): MxMessage | undefined => mx.messages.find(({ rcptTo }) => rcptTo.includes(to))
    await expect.poll(find).toBeDefined()
    return (find() as MxMessage).data
  }

  test.each(clients)('$name', async ({ name, maxLineLength = anyLength, send }) => {
    const to = `${name.toLowerCase().replaceAll(/\W+/g, '-')}@rcpt.example`
    const text = textWith(maxLineLength)
    await send(sendingTo(to, text))
    const message = await arrived(to)
    const { results } = await dkimVerify(message, {
      resolver: async (at: string) => (await resolver.txt(at)).records.map((record) => [record]),
    })
    expect(results.map(({ algo, signingDomain, status }) => [algo, signingDomain, status.result]).toSorted()).toEqual([
      ['ed25519-sha256', 'sender.example', 'pass'],
      ['rsa-sha256', 'sender.example', 'pass'],
    ])
    expect(
      Math.max(
        ...message
          .toString('latin1')
          .split('\r\n')
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(998)
    if (extensions?.includes('8BITMIME') === false) expect(message.some((byte) => byte > 127)).toBe(false)
    const parsed = await simpleParser(message)
    expect(parsed.subject).toBe(subject)
    expect(parsed.text?.trimEnd()).toBe(text.trimEnd())
    expect(parsed.attachments.map((each) => [each.filename, each.content.toString('hex')])).toEqual([
      [filename, attachment.toString('hex')],
    ])
  })
})
