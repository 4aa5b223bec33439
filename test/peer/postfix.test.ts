import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { simpleParser } from 'mailparser'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import type { PostfixInstance } from '../../bench/postfix-instance.ts'
import { waitForPort } from '../../bench/wait-for-port.ts'
import { dnsResolver, type DnsResolver } from '../../src/platform/dns/dns-resolver.ts'
import { startFakeDns, type FakeDns, type FakeRecords } from '../support/fake-dns.ts'
import { startPostfixMailbox } from '../support/postfix-mailbox.ts'
import { sternaCommand } from '../support/sterna-command.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

/**
 * The server as its users run it (the command line, the process, `curl`, `swaks`) before a real Postfix, whose mailbox is
 * then read by other people's DKIM verifiers. The name server is on port 53 of a loopback address, because those
 * verifiers ask whom /etc/resolv.conf names; they see one of ours.
 */
// One of our own: the same tests may be running against the executable.
const dnsHost = `127.53.${process.pid & 255}.${1 + ((process.pid >> 8) % 254)}`
const [program, ...start] = sternaCommand
const directory = temporaryDirectory()
let dns: FakeDns
let resolver: DnsResolver
let postfix: PostfixInstance | undefined
let server: ChildProcess | undefined
let token = ''
let environment: NodeJS.ProcessEnv
let httpPort = 0
let submissionPort = 0

/** Not the synchronous kind: this process answers the name look-ups. */
const execute = promisify(execFile)
const sterna = async (...words: string[]): Promise<string> =>
  (await execute(program, [...start, ...words], { env: environment })).stdout.trim()

beforeAll(async () => {
  dns = await startFakeDns({}, undefined, { host: dnsHost, port: 53 })
  resolver = dnsResolver({ servers: [dns.server] })
  const mxPort = await freePort()
  postfix = await startPostfixMailbox({ host: '127.0.0.3', port: mxPort })
  dns.zone['rcpt.example'] = { mx: [[10, 'mx.rcpt.example']] }
  dns.zone['mx.rcpt.example'] = { a: ['127.0.0.3'] }
  ;[httpPort, submissionPort] = [await freePort(), await freePort()]
  environment = {
    ...process.env,
    STERNA_DATA_DIR: join(directory.path, 'data'),
    STERNA_HOSTNAME: 'relay.example',
    STERNA_HTTP_LISTEN: `127.0.0.1:${httpPort}`,
    STERNA_SUBMISSION_LISTEN: `127.0.0.1:${submissionPort}`,
    STERNA_SUBMISSION_TLS_LISTEN: `127.0.0.1:${await freePort()}`,
    STERNA_RETURN_PATH_LISTEN: `127.0.0.1:${await freePort()}`,
    STERNA_DNS_SERVERS: dns.server,
    STERNA_DELIVERY_PORT: String(mxPort),
    STERNA_DELIVERY_ALLOW_PRIVATE_ADDRESSES: 'true',
  }
  server = spawn(program, [...start, 'serve'], { env: environment, stdio: ['ignore', 'ignore', 'inherit'] })
  await Promise.all([waitForPort('127.0.0.1', httpPort), waitForPort('127.0.0.1', submissionPort)])
  await sterna('account', 'create', 'shop', '--plan', 'enterprise')
  const domain = JSON.parse(await sterna('domain', 'add', 'sender.example', '--account', 'shop', '--json')) as { records: DnsRecord[] }
  publish(domain.records)
  await sterna('domain', 'verify', 'sender.example')
  token = await sterna('key', 'create', '--account', 'shop')
}, 180_000)

afterAll(async () => {
  const ended = new Promise((resolve) => server?.once('exit', resolve))
  if (server?.kill('SIGTERM')) await ended
  postfix?.stop()
  resolver.close()
  await dns.close()
  directory.remove()
})

interface DnsRecord {
  name: string
  type: string
  value: string
  priority?: number
}

/** Puts the records into the zone that `domain add` asks its user to publish. */
function publish(records: DnsRecord[]): void {
  for (const { name, type, value, priority } of records) {
    const entry = (dns.zone[name] ??= {}) as FakeRecords
    if (type === 'TXT') entry.txt = [...(entry.txt ?? []), value]
    if (type === 'MX') entry.mx = [[priority ?? 10, value]]
  }
}

/** The message in the mailbox that came for this address. */
async function mailFor(address: string): Promise<Buffer> {
  const box = join(postfix?.directory ?? '', 'mail/box/new')
  const find = (): Buffer | undefined =>
    (existsSync(box) ? readdirSync(box) : [])
      .map((name) => readFileSync(join(box, name)))
      .find((mail) => mail.includes(`X-Original-To: ${address}`))
  await expect.poll(find).toBeDefined()
  return find() as Buffer
}

/** Runs a program with this input to its end. */
function run(program: string, words: string[], input: Buffer = Buffer.alloc(0)): Promise<{ status: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, words)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += bytes.toString()))
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    child.on('close', (status) => resolve({ status, output }))
  })
}

/** The same before a resolver configuration that names our server. */
function withOurDns(words: string[], input: Buffer): Promise<{ status: number | null; output: string }> {
  const resolvConf = join(directory.path, 'resolv.conf')
  writeFileSync(resolvConf, `nameserver ${dnsHost}\n`)
  const script = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'
  return run('unshare', ['-m', 'sh', '-c', script, 'sh', resolvConf, ...words], input)
}

/** What Postfix put on top is not part of what was signed, and CRLF is what was. */
const asSent = (mail: Buffer): Buffer => Buffer.from(mail.toString('latin1').replace(/\r?\n/g, '\r\n'), 'latin1')

async function expectSignatures(mail: Buffer): Promise<void> {
  const message = asSent(mail)
  const { results } = await dkimVerify(message, {
    resolver: async (name: string) => (await resolver.txt(name)).records.map((record) => [record]),
  })
  const signatures = results.map(({ algo, signingDomain, status }) => [algo, signingDomain, status.result])
  expect(signatures.toSorted()).toEqual([
    ['ed25519-sha256', 'sender.example', 'pass'],
    ['rsa-sha256', 'sender.example', 'pass'],
  ])
  for (const index of ['0', '1']) {
    expect(await withOurDns(['dkimverify', '--index', index], message), `dkimpy, signature ${index}`).toMatchObject({
      status: 0,
      output: expect.stringContaining('signature ok'),
    })
  }
  expect(await withOurDns(['opendkim-testmsg', '-C'], message), 'OpenDKIM').toEqual({ status: 0, output: '' })
}

test('curl with the four fields', async () => {
  const body = JSON.stringify({
    from: 'shop@sender.example',
    to: 'curl@rcpt.example',
    subject: 'Your order',
    html: '<p>Thank you, Zoë.</p>',
  })
  const url = `http://127.0.0.1:${httpPort}/api/send`
  const headers = ['-H', `Authorization: Bearer ${token}`, '-H', 'Content-Type: application/json']
  const { output } = await run('curl', ['-sS', url, ...headers, '-d', body])
  const { id, status } = JSON.parse(output) as { id: string; status: string }
  expect({ id, status }).toEqual({ id: expect.stringMatching(/^em_/), status: 'queued' })
  const mail = await mailFor('curl@rcpt.example')
  await expectSignatures(mail)
  const parsed = await simpleParser(mail)
  expect([parsed.subject, (parsed.html || '').trim(), parsed.text?.trim()]).toEqual([
    'Your order',
    '<p>Thank you, Zoë.</p>',
    'Thank you, Zoë.',
  ])
  expect(mail.toString()).toMatch(/^Return-Path: <b[0-9a-z]{46}@send\.sender\.example>/m)
  expect(mail.toString()).toContain('with ESMTPS id')
})

test('nodemailer over STARTTLS with five megabytes and a subject from everywhere', async () => {
  const transport = createTransport({
    host: '127.0.0.1',
    port: submissionPort,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'any', pass: token },
  })
  const attachment = Buffer.from(Array.from({ length: 5 * 1024 * 1024 }, (_, place) => place % 251))
  const subject = 'Grüße aus 東京 🚀 und Ελλάδα'
  const { response } = await transport.sendMail({
    from: 'Shop <shop@sender.example>',
    to: 'nodemailer@rcpt.example',
    subject,
    text: '.\n..\n.leading dots\nand a line with a space at its end \n',
    attachments: [{ filename: 'große Datei.bin', content: attachment }],
  })
  expect(response).toMatch(/^250 2\.0\.0 Ok: queued as em_[0-9a-z]{26}$/)
  const mail = await mailFor('nodemailer@rcpt.example')
  await expectSignatures(mail)
  const parsed = await simpleParser(mail)
  expect(parsed.subject).toBe(subject)
  expect(parsed.attachments[0]?.filename).toBe('große Datei.bin')
  expect(parsed.attachments[0]?.content.equals(attachment)).toBe(true)
})

test('swaks', async () => {
  const login = [
    '--server',
    '127.0.0.1',
    '--port',
    String(submissionPort),
    '--tls',
    '--auth',
    'PLAIN',
    '--auth-user',
    'any',
    '--auth-password',
    token,
  ]
  const mailOptions = [
    '--from',
    'shop@sender.example',
    '--to',
    'swaks@rcpt.example',
    '--header',
    'Subject: from swaks',
    '--body',
    'Hello from swaks',
  ]
  const { status, output } = await run('swaks', [...login, ...mailOptions])
  expect(output).toContain('250 2.0.0 Ok: queued as em_')
  expect(status).toBe(0)
  const mail = await mailFor('swaks@rcpt.example')
  await expectSignatures(mail)
  expect(mail.toString()).toContain('Hello from swaks')
})

test('8-bit text, long lines and attachments to a host without 8BITMIME', async () => {
  const row = JSON.stringify({ name: 'Zoë', note: 'x'.repeat(3000) })
  const lines = [
    'From: shop@sender.example',
    'To: eight@rcpt.example',
    'Subject: Größe',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    '',
    'Grüße an Zoë, Ελλάδα und 東京 ',
    '--',
    '',
    '--b',
    'Content-Type: application/json; name=row.json',
    'Content-Disposition: attachment; filename=row.json',
    'Content-Transfer-Encoding: 8bit',
    '',
    row,
    '--b',
    'Content-Type: text/plain',
    '',
    `${'seven bits '.repeat(200)}end`,
    '--b--',
    '',
  ]
  const message = join(directory.path, 'eight.eml')
  writeFileSync(message, lines.join('\r\n'))
  const login = ['--url', `smtp://127.0.0.1:${submissionPort}`, '--ssl-reqd', '--insecure', '--user', `any:${token}`]
  const { status } = await run('curl', [
    '-sS',
    ...login,
    '--mail-from',
    'shop@sender.example',
    '--mail-rcpt',
    'eight@rcpt.example',
    '--upload-file',
    message,
  ])
  expect(status).toBe(0)
  const mail = await mailFor('eight@rcpt.example')
  await expectSignatures(mail)
  const [given, got] = [await simpleParser(lines.join('\r\n')), await simpleParser(asSent(mail))]
  expect([got.subject, got.text]).toEqual([given.subject, given.text])
  expect(got.attachments.map(({ filename, content }) => [filename, content.toString()])).toEqual([['row.json', row]])
})
