import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { picture, startClientRelay, trackedIn, type ClientRelay } from '../support/client-relay.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { testCertificate } from '../support/test-certificates.ts'
import { apiClients, features, limits, type ApiClient, type Feature, type Limit } from './api-clients/clients.ts'

/** An email as the programs in `api-clients/` read it. */
interface ClientEmail {
  from: string
  to: string[]
  cc?: string[]
  bcc?: string[]
  replyTo?: string[]
  subject?: string
  text?: string
  html?: string
  headers?: Record<string, string>
  /** `content` in base64, or a `path` to it. */
  attachments?: { filename: string; type: string; content?: string; path?: string; cid?: string }[]
  tags?: string[]
  metadata?: Record<string, string>
  /** The alias of a template, and what it is filled with. */
  template?: string
  variables?: Record<string, unknown>
  /** By recipient. */
  personal?: Record<string, Record<string, unknown>>
  /** Epoch, s. */
  sendAt?: number
  opens?: boolean
  clicks?: boolean
}

/** What the programs answer: what the client was told, as it hands it on. */
interface ClientAnswer {
  version: string
  id?: string
  message?: string
  statuses?: Record<string, string>
  error?: string
}

const directory = temporaryDirectory()
const certificateFile = join(directory.path, 'ca.pem')
const ends: (() => unknown)[] = []
let relay: ClientRelay

beforeAll(async () => {
  const { key, cert } = await testCertificate(['localhost'])
  writeFileSync(certificateFile, cert)
  const keyFile = join(directory.path, 'key.pem')
  writeFileSync(keyFile, key)
  relay = await startClientRelay(
    { tls_cert: certificateFile, tls_key: keyFile, http_tls_listen: '127.0.0.1:0' },
    (end) => void ends.push(end),
  )
  await relay.template('d-welcome', { subject: 'Welcome, {{name}}', html: '<p>{{#items}}{{title}} {{/items}}for {{name}}</p>' })
  await relay.call('POST', '/api/suppressions', { emails: ['gone@inbox.example'] })
})

afterAll(async () => {
  for (const end of ends.toReversed()) await end()
  directory.remove()
})

/** Those of the system, which Debian's modules belong to. */
const system = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/nonexistent', LANG: 'C.UTF-8' }
const programs: Record<ApiClient['program'], string[]> = {
  'django-anymail.py': ['/usr/bin/python3'],
  'symfony.php': ['/usr/bin/php', '-d', `curl.cainfo=${certificateFile}`],
  'postmark.rb': ['/usr/bin/ruby'],
  'npm.mjs': [process.execPath],
}

/** A program that answers each line it is given with a line; to start one takes longer than what it does. */
interface Running {
  ask(line: string): Promise<string>
}

const running = new Map<ApiClient['program'], Running>()

function start(program: ApiClient['program']): Running {
  const [command = '', ...words] = [...programs[program], new URL(`api-clients/${program}`, import.meta.url).pathname]
  const child = spawn(command, words, { env: system, stdio: ['pipe', 'pipe', 'pipe'] })
  let complaints = ''
  child.stderr.on('data', (part: Buffer) => (complaints += part.toString()))
  // What it says of a line it cannot be given stands in its complaints.
  child.stdin.on('error', () => {})
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]()
  const ended = new Promise((resolve) => child.once('close', resolve))
  ends.push(async () => {
    child.stdin.end()
    await ended
  })
  return {
    async ask(line) {
      child.stdin.write(`${line}\n`)
      const { value, done } = await answers.next()
      if (!done) return value
      await ended
      running.delete(program)
      throw new Error(`${program} did not answer: ${complaints}`)
    },
  }
}

async function sendWith({ program, service, path, onlyHttps }: ApiClient, email: ClientEmail, key = relay.token): Promise<ClientAnswer> {
  const url = onlyHttps ? `localhost:${relay.relay.addresses.http[1]?.port}${path}` : `${relay.baseUrl}${path}`
  const asked = running.get(program) ?? start(program)
  running.set(program, asked)
  return JSON.parse(await asked.ask(JSON.stringify({ service, key, url, email }))) as ClientAnswer
}

/** Recipients that no other test writes to. */
const recipientsFor =
  ({ program, service }: ApiClient, what: string) =>
  (person: string) =>
    `${person}.${program.split('.')[0]}-${service.replaceAll(/\W+/g, '-')}.${what}@inbox.example`

interface Sending {
  client: ApiClient
  address: (person: string) => string
}

async function taken(client: ApiClient, email: ClientEmail): Promise<ClientAnswer> {
  const answer = await sendWith(client, email)
  expect(answer.error).toBeUndefined()
  return answer
}

/** The email on record that went to this address. */
async function recordTo(address: string) {
  const { body } = await relay.call('GET', `/api/emails?to=${encodeURIComponent(address)}`)
  return relay.record(body.data[0].id)
}

const from = 'App <app@sender.example>'
const hello = { from, subject: 'Hello', text: 'Hello there', html: '<p>Hello <b>there</b></p>' }
/** More than a line of base64. */
const report = Buffer.from(Array.from({ length: 500 }, (_, place) => (place * 7) % 256))

const checks: Record<Feature, (sending: Sending) => Promise<void>> = {
  async attachments({ client, address }) {
    const attachments = [
      { filename: 'Übersicht.pdf', type: 'application/pdf', content: report.toString('base64') },
      { filename: 'notes.txt', type: 'text/plain', content: Buffer.from('the notes').toString('base64') },
    ]
    await taken(client, { ...hello, to: [address('ann')], attachments })
    const mail = await relay.received(address('ann'))
    expect(mail.attachments.map(({ filename, contentType, content }) => [filename, contentType, content.toString('base64')])).toEqual([
      ['Übersicht.pdf', 'application/pdf', report.toString('base64')],
      ['notes.txt', 'text/plain', Buffer.from('the notes').toString('base64')],
    ])
  },
  async inline({ client, address }) {
    const attachments = [{ filename: 'dot.png', type: 'image/png', content: picture, cid: 'dot.png' }]
    await taken(client, { ...hello, to: [address('ann')], html: '<p><img src="cid:dot.png"></p>', attachments })
    const mail = await relay.received(address('ann'))
    const [file] = mail.attachments
    expect([file?.contentType, file?.content.toString('base64'), file?.related]).toEqual(['image/png', picture, true])
    const message = relay.mx.messages
      .find(({ rcptTo }) => rcptTo.includes(address('ann')))
      ?.data.toString()
      .replaceAll(/=\r\n/g, '')
    expect(message).toContain(`cid:${file?.cid}`)
  },
  async template({ client, address }) {
    const variables = { name: 'Ann', items: [{ title: 'one' }, { title: 'two' }] }
    await taken(client, { from, to: [address('ann')], template: 'd-welcome', variables })
    const mail = await relay.received(address('ann'))
    expect([mail.subject, mail.html]).toEqual(['Welcome, Ann', expect.stringContaining('one two for Ann')])
  },
  async personal({ client, address }) {
    const { placeholder } = client
    const [ann, bob] = [address('ann'), address('bob')]
    const personal = { [ann]: { name: 'Ann', items: [] }, [bob]: { name: 'Bob', items: [] } }
    const content = placeholder ? { subject: 'Hello', text: `Welcome, ${placeholder}` } : { template: 'd-welcome' }
    await taken(client, { from, to: [ann, bob], personal, ...content })
    for (const [to, name] of [[ann, 'Ann'] as const, [bob, 'Bob'] as const]) {
      const mail = await relay.received(to)
      expect(placeholder ? mail.text?.trim() : mail.subject).toBe(`Welcome, ${name}`)
      expect((await recordTo(to)).to).toEqual([to])
    }
  },
  async tags({ client, address }) {
    await taken(client, { ...hello, to: [address('ann')], tags: ['welcome'] })
    expect((await recordTo(address('ann'))).tags).toEqual([{ name: 'welcome', value: 'true' }])
    expect((await relay.received(address('ann'))).headerLines.filter(({ key }) => /tag/.test(key))).toEqual([])
  },
  async metadata({ client, address }) {
    await taken(client, { ...hello, to: [address('ann')], metadata: { user: '42', plan: 'free' } })
    expect((await recordTo(address('ann'))).metadata).toMatchObject({ user: '42', plan: 'free' })
    expect((await relay.received(address('ann'))).headerLines.filter(({ key }) => /variables|metadata/.test(key))).toEqual([])
  },
  async schedule({ client, address }) {
    const sendAt = Math.floor(relay.clock.now() / 1000) + 3600
    await taken(client, { ...hello, to: [address('ann')], sendAt })
    expect(await recordTo(address('ann'))).toMatchObject({ status: 'scheduled', scheduled_at: new Date(sendAt * 1000).toISOString() })
  },
  async tracking({ client, address }) {
    const html = '<p><a href="https://shop.example/">Shop</a></p>'
    await taken(client, { ...hello, html, to: [address('ann')], opens: true, clicks: false })
    expect(trackedIn(await relay.received(address('ann')))).toEqual({ opens: true, clicks: false })
    await taken(client, { ...hello, html, to: [address('bob')], opens: false, clicks: true })
    expect(trackedIn(await relay.received(address('bob')))).toEqual({ opens: false, clicks: true })
  },
  async suppressed({ client, address }) {
    const some = await taken(client, { ...hello, to: [address('ann'), 'gone@inbox.example'] })
    expect(some.statuses?.['gone@inbox.example'] ?? some.message).toMatch(/^rejected$|inactive addresses: gone@inbox\.example\./)
    await relay.received(address('ann'))
    const { error } = await sendWith(client, { ...hello, to: ['gone@inbox.example'] })
    expect(error).toMatch(/gone@inbox\.example|rejected/)
  },
}

const refused: Record<Limit, (address: Sending['address']) => { email: ClientEmail; error: RegExp }> = {
  copies: (address) => ({
    email: { ...hello, to: [address('ann')], cc: [address('cc')], personal: { [address('ann')]: { name: 'Ann' } } },
    error: /recipient-variables/,
  }),
  remote: (address) => ({
    email: {
      ...hello,
      to: [address('ann')],
      attachments: [{ filename: 'a.txt', type: 'text/plain', path: 'https://files.example/a.txt' }],
    },
    error: /attachments\.0\.path/,
  }),
}

describe.each(apiClients)('$name', (client) => {
  test('sends to several recipients', async () => {
    const address = recipientsFor(client, 'send')
    const [cc, bcc] = [[address('cc')], [address('bcc')]]
    const to = [`"Miller, Ann" <${address('ann')}>`, address('bob')]
    const { version } = await taken(client, {
      ...hello,
      to,
      cc,
      bcc,
      replyTo: ['help@sender.example'],
      headers: { 'X-Campaign': 'spring' },
    })
    expect(version.slice(0, client.version.length)).toBe(client.version)
    const mail = await relay.received(address('ann'))
    expect({
      from: mail.from?.text,
      to: [mail.to].flat()[0]?.value.map(({ address: given, name }) => [given, name]),
      cc: [mail.cc].flat()[0]?.text,
      bcc: mail.bcc,
      replyTo: mail.replyTo?.text,
      subject: mail.subject,
      text: mail.text?.trim(),
      html: String(mail.html).trim(),
      campaign: mail.headers.get('x-campaign'),
    }).toEqual({
      from: '"App" <app@sender.example>',
      to: [
        [address('ann'), 'Miller, Ann'],
        [address('bob'), ''],
      ],
      cc: address('cc'),
      bcc: undefined,
      replyTo: 'help@sender.example',
      subject: 'Hello',
      text: 'Hello there',
      html: '<p>Hello <b>there</b></p>',
      campaign: 'spring',
    })
    for (const name of ['bob', 'cc', 'bcc']) await relay.received(address(name))
  })

  test('shows why an email is refused', async () => {
    const to = [recipientsFor(client, 'refused')('ann')]
    expect((await sendWith(client, { ...hello, to, from: 'App <app@elsewhere.example>' })).error).toMatch(
      /elsewhere\.example|sender\.example/,
    )
    expect((await sendWith(client, { ...hello, to }, 'no-key')).error).toBeTruthy()
  })

  test.each(client.can.map((feature) => [features[feature], feature] as const))('%s', async (_, feature) => {
    await checks[feature]({ client, address: recipientsFor(client, feature) })
  })

  test.each((client.cannot ?? []).map((limit) => [limits[limit], limit] as const))('is refused %s', async (_, limit) => {
    const address = recipientsFor(client, limit)
    const { email, error } = refused[limit](address)
    expect((await sendWith(client, email)).error).toMatch(error)
    expect((await relay.call('GET', `/api/emails?to=${address('ann')}`)).body.data).toEqual([])
  })
})
