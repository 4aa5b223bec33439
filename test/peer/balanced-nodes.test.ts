import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { simpleParser } from 'mailparser'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { totpCode, totpStepAt } from '../../src/senders/account/totp.ts'
import { authenticator } from '../support/authenticator.ts'
import {
  balancerHost,
  portsOfBalancer,
  setUpLinks,
  startBalancedNodes,
  type Answered,
  type BalancedNodes,
} from '../support/balanced-nodes.ts'
import { fromBase32 } from '../support/base32.ts'
import { openPage, openTab } from '../support/dashboard-visit.ts'
import { startFakeDns, type FakeZone } from '../support/fake-dns.ts'
import type { MxMessage } from '../support/fake-mx.ts'
import { onFileFinished } from '../support/file-finished.ts'
import { startPebble, type Pebble } from '../support/pebble.ts'
import { composeDsn } from '../support/returned-mail.ts'
import { commandsIn } from '../support/run-commands.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { temporaryDirectory, testDirectory } from '../support/temporary-directory.ts'
import { testCertificate } from '../support/test-certificates.ts'
import type { TestNode } from '../support/two-nodes.ts'

/**
 * What clients do at one server, done at two nodes behind a balancer that sends each request to the next one. The tests follow one
 * another: the first makes the owner, the second the domain that the others send from.
 */
let nodes: BalancedNodes
let pebble: Pebble
const hostname = 'mail.relay.example'
const zone: FakeZone = {}
const password = 'correct horse battery'
const owner = { email: 'mira@rcpt.example', password }
/** Of the owner's session, for the API. */
let token = ''
/** Of an API key. */
let key = ''

beforeAll(async () => {
  const dns = await startFakeDns(zone)
  onFileFinished(() => dns.close())
  const ports = await portsOfBalancer()
  pebble = await startPebble({ nameServer: dns.server, httpPort: ports[8080], tlsPort: ports[8443] })
  onFileFinished(() => pebble.stop())
  zone[hostname] = { a: [balancerHost] }
  const settings = {
    hostname,
    dns_servers: dns.server,
    // The name of the server needs no other.
    ...(await certificateFiles()),
    acme_enabled: 'true',
    acme_directory: pebble.directory,
    acme_ca: pebble.ca,
    acme_challenges: 'tls-alpn-01',
    submission_trace_clients: 'true',
    tracking_settle: '1s',
  }
  nodes = await startBalancedNodes(settings, { zone, ports, ofB: { acme_challenges: 'http-01' } })
})

async function certificateFiles(): Promise<{ tls_cert: string; tls_key: string }> {
  const { path, remove } = temporaryDirectory()
  onFileFinished(async () => remove())
  const { cert, key: privateKey } = await testCertificate([hostname])
  const files = { tls_cert: join(path, 'cert.pem'), tls_key: join(path, 'key.pem') }
  writeFileSync(files.tls_cert, cert)
  writeFileSync(files.tls_key, privateKey)
  return files
}

const cookieOf = ({ headers }: Answered): string => headers.get('set-cookie')?.split(';')[0] ?? ''
const statusesOf = (answers: Answered[]): number[] => [...new Set(answers.map(({ status }) => status))]
/** The status of a request wherever it goes. */
const everywhere = async (...request: Parameters<BalancedNodes['ask']>): Promise<number[]> => statusesOf(await nodes.askBoth(...request))

async function ok(...request: Parameters<BalancedNodes['ask']>): Promise<any> {
  const { status, body, text } = await nodes.ask(...request)
  if (status >= 300) throw new Error(`${request[0]} ${request[1]}: ${status} ${text}`)
  return body
}

async function logIn(who: { email: string; password: string; code?: string }): Promise<{ cookie: string; token: string }> {
  const cookie = cookieOf(await nodes.ask('POST', '/session', { body: who }))
  return { cookie, token: (await ok('POST', '/session/token', { cookie })).token }
}

let people = 0
/** Somebody who was invited, and has set a password. */
async function newUser(role = 'member'): Promise<{ email: string; password: string }> {
  const email = `user${++people}@rcpt.example`
  const { invitation_url: link } = await ok('POST', '/api/users', { token, body: { email, role } })
  await nodes.ask('POST', new URL(link).pathname, { body: new URLSearchParams({ password }) })
  return { email, password }
}

/** The newest message to this address, once there is one. */
async function arrived(address: string): Promise<MxMessage> {
  const to = () => nodes.mx.messages.findLast(({ rcptTo }) => rcptTo.includes(address))
  await expect.poll(to).toBeDefined()
  return to() as MxMessage
}

const email = (to: string, more: object = {}) => ({ from: 'app@sender.example', to, subject: 'Hello', text: 'Hello', ...more })

/** Has the DNS say what a domain needs, and verifies it. */
async function addDomain(name: string, more: object = {}): Promise<string> {
  const { id, records } = await ok('POST', '/api/domains', { token, body: { name, ...more } })
  for (const { name: at, type, value, priority } of records) {
    const entry = { ...(zone[at] as object) }
    zone[at] = type === 'TXT' ? { ...entry, txt: [value] } : type === 'MX' ? { ...entry, mx: [[priority, value]] } : { cname: value }
  }
  await ok('POST', `/api/domains/${id}/verify`, { token })
  await expect.poll(async () => (await ok('GET', `/api/domains/${id}`, { token })).status).toBe('verified')
  return id
}

test('the newest set-up link works at every node, once', async () => {
  const [first = '', second = ''] = await setUpLinks(nodes)
  expect(await everywhere('GET', first)).toEqual([404])
  expect(await everywhere('GET', second)).toEqual([200])
  const used = await nodes.ask('POST', second, { body: new URLSearchParams(owner) })
  expect(used.status).toBe(200)
  expect(await everywhere('GET', second)).toEqual([404])
  const cookie = cookieOf(used)
  expect(await everywhere('GET', '/session', { cookie })).toEqual([200])
  token = (await ok('POST', '/session/token', { cookie })).token
})

test('a domain and a key are made, and mail goes out, from the next request on', async () => {
  await addDomain('sender.example')
  key = (await ok('POST', '/api/api-keys', { token, body: { name: 'app', permission: 'full_access' } })).token
  expect(await everywhere('POST', '/api/send', { token: key, body: email('first@rcpt.example') })).toEqual([200])
  await arrived('first@rcpt.example')
})

test('a second factor that is begun at one node is confirmed at the next, and asked for everywhere', async () => {
  const who = await newUser()
  const { cookie } = await logIn(who)
  const { secret } = await ok('POST', '/session/totp', { cookie, body: { password } })
  const code = (steps: number) => totpCode(fromBase32(secret), totpStepAt(Date.now()) + steps)
  const { recovery_codes: codes } = await ok('POST', '/session/totp/confirm', { cookie, body: { code: code(0) } })
  expect((await nodes.ask('POST', '/session', { body: who })).body.name).toBe('second_factor_required')
  const login = { body: { ...who, code: code(1) } }
  expect((await nodes.ask('POST', '/session', login)).status).toBe(200)
  // Nobody logs in with a code that was seen.
  expect(await everywhere('POST', '/session', login)).toEqual([401])
  const recovered = { body: { ...who, code: codes[0] } }
  expect((await nodes.ask('POST', '/session', recovered)).status).toBe(200)
  expect(await everywhere('POST', '/session', recovered)).toEqual([401])
})

test('a passkey whose options come from one node is kept by the next, and logs in, each answer once', async () => {
  const { cookie } = await logIn(await newUser())
  const device = authenticator(nodes.baseUrl)
  const creation = await ok('POST', '/session/passkeys/options', { cookie, body: { password } })
  await ok('POST', '/session/passkeys', { cookie, body: { name: 'Laptop', credential: device.create(creation.options) } })
  for (const _ of ['from one', 'from the other']) {
    const begun = await nodes.ask('POST', '/session/passkey/options')
    const shown = { cookie: cookieOf(begun), body: { credential: device.get(begun.body.options) } }
    const loggedIn = await nodes.ask('POST', '/session/passkey', shown)
    expect([loggedIn.status, loggedIn.node === begun.node]).toEqual([200, false])
    expect(await everywhere('POST', '/session/passkey', shown)).toEqual([401])
    expect(await everywhere('GET', '/session', { cookie: cookieOf(loggedIn) })).toEqual([200])
    // The next turn begins at the other node.
    await nodes.ask('GET', '/healthz')
  }
})

test('an invitation is accepted once, and whoever is removed is out everywhere', async () => {
  const { id, invitation_url: link } = await ok('POST', '/api/users', { token, body: { email: 'ann@rcpt.example', role: 'admin' } })
  const path = new URL(link).pathname
  expect(await everywhere('GET', path)).toEqual([200])
  const accepted = await nodes.ask('POST', path, { body: new URLSearchParams({ password }) })
  const cookie = cookieOf(accepted)
  expect(accepted.status).toBe(200)
  expect(await everywhere('GET', path)).toEqual([404])
  const { token: own } = await ok('POST', '/session/token', { cookie })
  expect(await everywhere('GET', '/api/users', { token: own })).toEqual([200])
  await ok('PATCH', `/api/users/${id}`, { token, body: { role: 'member' } })
  expect(await everywhere('GET', '/api/users', { token: own })).toEqual([403])
  await ok('DELETE', `/api/users/${id}`, { token })
  expect(await everywhere('GET', '/session', { cookie })).toEqual([401])
  expect(await everywhere('GET', '/api/emails', { token: own })).toEqual([401])
})

test('a forgotten password is replaced by the link of one mail, and all sessions are over', async () => {
  const who = await newUser()
  const { cookie, token: own } = await logIn(who)
  expect((await nodes.ask('POST', '/session/password/reset', { body: { email: who.email } })).status).toBe(202)
  const { text = '' } = await simpleParser((await arrived(who.email)).data)
  const path = /\/reset\/\S+/.exec(text)?.[0] ?? ''
  expect(await everywhere('GET', path)).toEqual([200])
  const form = { body: new URLSearchParams({ password: 'another horse staple' }) }
  expect((await nodes.ask('POST', path, form)).status).toBe(200)
  expect(await everywhere('POST', path, form)).toEqual([404])
  expect(await everywhere('GET', '/session', { cookie })).toEqual([401])
  expect(await everywhere('GET', '/api/emails', { token: own })).toEqual([401])
  expect(await everywhere('POST', '/session', { body: who })).toEqual([401])
  expect(await everywhere('POST', '/session', { body: { ...who, password: 'another horse staple' } })).toEqual([200])
  const subjects = async () => {
    const mails = nodes.mx.messages.filter(({ rcptTo }) => rcptTo.includes(who.email))
    return Promise.all(mails.map(async ({ data }) => (await simpleParser(data)).subject))
  }
  // The link, and the notice that it was used.
  await expect.poll(subjects).toEqual([`Set a new password for ${new URL(nodes.baseUrl).host}`, expect.stringMatching(/password/)])
})

test('a session that is ended is over everywhere at once, and a new password ends all others', async () => {
  const who = await newUser()
  const [first, second, third] = [await logIn(who), await logIn(who), await logIn(who)]
  const { data } = await ok('GET', '/session/all', { cookie: first.cookie })
  const current = data.find(({ current }: { current: boolean }) => current)
  await ok('DELETE', `/session/all/${current.id}`, { cookie: second.cookie })
  expect(await everywhere('GET', '/session', { cookie: first.cookie })).toEqual([401])
  expect(await everywhere('GET', '/api/emails', { token: first.token })).toEqual([401])
  expect(await everywhere('GET', '/session', { cookie: second.cookie })).toEqual([200])
  const body = { password, new_password: 'another horse staple' }
  const changed = await nodes.ask('POST', '/session/password', { cookie: third.cookie, body })
  for (const { cookie, token: own } of [second, third]) {
    expect(await everywhere('GET', '/session', { cookie })).toEqual([401])
    expect(await everywhere('GET', '/api/emails', { token: own })).toEqual([401])
  }
  expect(await everywhere('GET', '/session', { cookie: cookieOf(changed) })).toEqual([200])
})

test('a key that is revoked is refused everywhere at once, over HTTP and SMTP', async () => {
  const { id, token: old } = await ok('POST', '/api/api-keys', { token, body: { name: 'old', permission: 'sending_access' } })
  expect(await everywhere('POST', '/api/send', { token: old, body: email('key@rcpt.example') })).toEqual([200])
  await ok('DELETE', `/api/api-keys/${id}`, { token })
  expect(await everywhere('POST', '/api/send', { token: old, body: email('key@rcpt.example') })).toEqual([401])
  for (const _ of ['at one', 'at the other']) {
    const client = await SmtpClient.connect(nodes.ports[2465], { host: balancerHost, tls: true })
    onTestFinished(() => client.close())
    expect((await client.login(old)).code).toBe(535)
  }
})

test('a request with an idempotency key that comes again at the other node is carried out once', async () => {
  const sent = { token: key, body: email('once@rcpt.example'), headers: { 'idempotency-key': 'one mail' } }
  const mails = await Promise.all([nodes.ask('POST', '/api/send', sent), nodes.ask('POST', '/api/send', sent)])
  expect(statusesOf(mails).filter((status) => status !== 409)).toEqual([200])
  const again = await nodes.askBoth('POST', '/api/send', sent)
  expect(new Set(again.map(({ body, headers }) => `${body.id} ${headers.get('idempotency-replayed')}`)).size).toBe(1)
  const made = {
    token: key,
    body: { name: 'again', alias: 'again', subject: 'Hi', html: 'Hi' },
    headers: { 'idempotency-key': 'one template' },
  }
  expect(statusesOf(await nodes.askBoth('POST', '/api/templates', made))).toEqual([201])
  expect((await ok('GET', '/api/templates', { token: key })).data).toHaveLength(1)
  await arrived('once@rcpt.example')
  expect(nodes.mx.messages.filter(({ rcptTo }) => rcptTo.includes('once@rcpt.example'))).toHaveLength(1)
})

test('attachments that come in at one node leave and are read at any, byte for byte', async () => {
  const file = randomBytes(1024 * 1024)
  const attachments = [{ filename: 'scan.bin', content: file.toString('base64') }]
  const sent = await nodes.askBoth('POST', '/api/send', { token: key, body: email('files@rcpt.example', { attachments }) })
  const ids: string[] = sent.map(({ body }) => body.id)
  await expect.poll(() => nodes.mx.messages.filter(({ rcptTo }) => rcptTo.includes('files@rcpt.example')).length).toBe(ids.length)
  for (const id of ids) {
    const { data } = await ok('GET', `/api/emails/${id}/attachments`, { token: key })
    const path = `/api/emails/${id}/attachments/${data[0].id}/content`
    for (const { baseUrl } of [nodes, nodes]) {
      const answer = await fetch(baseUrl + path, { headers: { authorization: `Bearer ${key}` } })
      expect(file.equals(Buffer.from(await answer.arrayBuffer()))).toBe(true)
    }
  }
  const [mail] = (await simpleParser((await arrived('files@rcpt.example')).data)).attachments
  expect(file.equals(mail?.content ?? Buffer.alloc(0))).toBe(true)
})

test('a preview made at one node is shown by the next, once', async () => {
  const { id } = await ok('POST', '/api/send', { token: key, body: email('seen@rcpt.example', { html: '<p>Spring</p>' }) })
  for (const body of [{ html: '<p>Spring</p>' }, { email_id: id }]) {
    const made = await nodes.ask('POST', '/api/previews', { token: key, body })
    const shown = await nodes.ask('GET', made.body.url)
    expect([shown.status, shown.text.includes('Spring'), shown.node === made.node]).toEqual([200, true, false])
    expect(await everywhere('GET', made.body.url)).toEqual([404])
  }
})

test('mail handed in over SMTP at either node is traced to its client, not to the balancer', async () => {
  const localAddress = '127.0.6.1'
  for (const to of ['smtp1@rcpt.example', 'smtp2@rcpt.example']) {
    const client = await SmtpClient.connect(nodes.ports[2587], { host: balancerHost, localAddress })
    onTestFinished(() => client.close())
    await client.command('EHLO client.example')
    await client.command('STARTTLS')
    await client.startTls()
    expect((await client.login(key)).code).toBe(235)
    expect((await client.send('From: app@sender.example\r\nSubject: Hi\r\n\r\nHi', { from: 'app@sender.example', to: [to] })).code).toBe(
      250,
    )
    expect(String((await arrived(to)).data)).toContain(`([${localAddress}])`)
  }
})

test('a bounce that comes back through the balancer is understood by the node that takes it in', async () => {
  const to = 'gone@rcpt.example'
  const sent = await nodes.askBoth('POST', '/api/send', { token: key, body: email(to) })
  const mails = () => nodes.mx.messages.filter(({ rcptTo }) => rcptTo.includes(to))
  await expect.poll(() => mails().length).toBe(sent.length)
  for (const { mailFrom } of mails()) {
    const client = await SmtpClient.connect(nodes.ports[2525], { host: balancerHost })
    onTestFinished(() => client.close())
    await client.command('EHLO mx.rcpt.example')
    expect((await client.send(composeDsn({ recipient: to }), { from: '', to: [mailFrom] })).code).toBe(250)
  }
  const bounced = async () => (await ok('GET', `/api/events?to=${to}&type=email.bounced`, { token: key })).data.length
  await expect.poll(bounced).toBe(sent.length)
})

/** As a person's browser asks. */
const browser = {
  'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  accept: 'text/html',
  'accept-language': 'en',
}
const countOf = async (id: string, wanted: string): Promise<number> =>
  (await ok('GET', `/api/emails/${id}/events`, { token: key })).data.filter(({ type }: { type: string }) => type === wanted).length

test('opens and clicks are counted wherever they come in, and whoever unsubscribes gets no more from any', async () => {
  const ann = 'reader@rcpt.example'
  const html = '<p>News</p><a href="https://shop.example/">Shop</a>'
  const news = { token: key, body: email(ann, { html, tracking: { opens: true, clicks: true }, unsubscribe: true }) }
  const { id } = await ok('POST', '/api/send', news)
  const mail = await simpleParser((await arrived(ann)).data)
  const pathOf = (kind: string) => new RegExp(`http://[^/]+(/t/${kind}/[\\w/-]+)`).exec(mail.html || '')?.[1] ?? ''
  const requests = {
    opened: await nodes.askBoth('GET', pathOf('o'), { headers: browser }),
    clicked: await nodes.askBoth('GET', pathOf('c'), { headers: browser }),
  }
  for (const [type, answers] of Object.entries(requests)) await expect.poll(() => countOf(id, `email.${type}`)).toBe(answers.length)

  const path = /\/u\/[\w-]+/.exec(String(mail.headerLines.find(({ key: name }) => name === 'list-unsubscribe')?.line))?.[0] ?? ''
  expect(await everywhere('GET', path)).toEqual([200])
  expect(await everywhere('POST', path, { body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) })).toEqual([200])
  for (const { body } of await nodes.askBoth('POST', '/api/send', news))
    await expect.poll(async () => (await ok('GET', `/api/emails/${body.id}`, { token: key })).recipients[0].status).toBe('suppressed')
  expect(await countOf(id, 'email.unsubscribed')).toBe(1)
})

interface Told {
  id: string
  type: string
}

/** Opens a stream of events after the last one, does something, and breaks off once one has been told. */
async function follow(last: Told | undefined, meanwhile?: () => Promise<unknown>): Promise<Told & { node: string | null }> {
  const stop = new AbortController()
  const headers = { authorization: `Bearer ${key}`, ...(last && { 'last-event-id': last.id }) }
  const answer = await fetch(`${nodes.baseUrl}/api/events/stream`, { headers, signal: stop.signal })
  await meanwhile?.()
  let text = ''
  let first: RegExpExecArray | null = null
  for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += part
    first = /^id: (.*)\nevent: (.*)$/m.exec(text)
    if (first) break
  }
  stop.abort()
  const [, id = '', type = ''] = first ?? []
  return { id, type, node: answer.headers.get('x-node') }
}

test('a stream of events that breaks off goes on at the next node, without a gap and without a repetition', async () => {
  const send = () => nodes.askBoth('POST', '/api/send', { token: key, body: email('stream@rcpt.example') })
  const told = [await follow(undefined, send)]
  await send()
  const mails = () => nodes.mx.messages.filter(({ rcptTo }) => rcptTo.includes('stream@rcpt.example'))
  const events = async (): Promise<Told[]> => (await ok('GET', '/api/events?to=stream@rcpt.example', { token: key })).data.toReversed()
  const delivered = async (): Promise<Told[]> => (await events()).filter(({ type }) => type === 'email.delivered')
  await expect.poll(async () => [(await delivered()).length, mails().length]).toEqual([4, 4])
  const all = (await events()).map(({ id, type }) => ({ id, type }))
  while (told.length < all.length) told.push(await follow(told.at(-1)))
  expect(told).toMatchObject(all)
  expect(new Set(told.map(({ node }) => node)).size).toBe(2)
})

test('what apply changes on another machine is so at every node', async () => {
  const directory = testDirectory()
  mkdirSync(join(directory, 'data'))
  copyFileSync(join(nodes.a.relay.services.config.dataDir, 'secret.key'), join(directory, 'data', 'secret.key'))
  writeFileSync(
    join(directory, 'set-up.yaml'),
    `accounts:
      - name: default
        domains: [{name: sender.example, open_tracking: true}]
        templates: [{alias: welcome, subject: Welcome, html: <p>Welcome</p>}]
      - {name: shop, plan: starter}`,
  )
  const env = { STERNA_STORE_URL: nodes.postgresUrl, STERNA_HOSTNAME: hostname, STERNA_BASE_URL: nodes.baseUrl }
  const ran = await commandsIn(directory, join(directory, 'data'))('apply set-up.yaml --yes --json', env)
  expect(ran).toMatchObject({ exitCode: 0, stderr: '' })
  const body = email('welcome@rcpt.example', { subject: undefined, text: undefined, template: { id: 'welcome' } })
  expect(await everywhere('POST', '/api/send', { token: key, body })).toEqual([200])
  for (const answer of await nodes.askBoth('GET', '/api/accounts', { token })) expect(answer.text).toContain('"shop"')
  const tracks = async () =>
    (await nodes.askBoth('GET', '/api/domains/sender.example', { token })).map((answer) => answer.body.open_tracking)
  await expect.poll(async () => new Set(await tracks())).toEqual(new Set([true]))
})

test('the dashboard in Chromium: pages, mail as it comes, a setting, and a log-out', async () => {
  const { tab, openTab: another } = await openTab()
  await tab.goto(`${nodes.baseUrl}/`)
  await tab.getByLabel('Email address').fill(owner.email)
  await tab.getByLabel('Password').fill(owner.password)
  await tab.getByRole('button', { name: 'Log in', exact: true }).click()
  await tab.getByRole('navigation', { name: 'Main' }).waitFor()
  const pages = [
    '',
    'domains',
    'domains/sender.example',
    'keys',
    'suppressions',
    'webhooks',
    'templates',
    'queue',
    'health',
    'settings',
    'analytics',
    'people',
    'me',
  ]
  for (const page of pages) await openPage(tab, `${nodes.baseUrl}/${page}`)

  await tab.goto(`${nodes.baseUrl}/emails`)
  await tab.getByText('Live', { exact: true }).waitFor()
  for (const subject of ['Sent at one', 'Sent at the other']) {
    await ok('POST', '/api/send', { token: key, body: email('ann@rcpt.example', { subject, html: '<p>Spring is here</p>' }) })
    await tab.getByRole('row').filter({ hasText: subject }).getByText('Delivered').waitFor()
  }
  await tab.getByRole('link', { name: 'Sent at one', exact: true }).click()
  await tab.frameLocator('[title="The email as its reader sees it"]').getByText('Spring is here').waitFor()

  await openPage(tab, `${nodes.baseUrl}/people?view=accounts`)
  await tab.getByRole('row', { name: /^shop/ }).getByRole('link', { name: 'Policies' }).click()
  const waits = tab.getByRole('region', { name: 'Retry schedule' })
  await waits.getByLabel('Waits between attempts').fill('2m, 1h')
  await waits.getByRole('button', { name: 'Save' }).click()
  await waits.getByText('In force: 2m, 1h.').waitFor()
  const other = await another()
  for (const _ of ['at one', 'at the other']) {
    await openPage(other, tab.url())
    await other.getByText('In force: 2m, 1h.').waitFor()
  }
  await tab.getByRole('button', { name: 'Log out' }).click()
  await other.getByRole('heading', { name: 'Log in' }).waitFor()
})

/** The certificate shown by whichever node a connection to the balancer comes to, if Pebble issued it for this name. */
async function shown(port: number, servername: string): Promise<string | null> {
  const socket = connectTcp({ host: balancerHost, port })
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  const secure = connect({ socket, servername, ca: pebble.root }, () => resolve(secure)).on('error', reject)
  const certificate = await promise.then((open) => open.getPeerX509Certificate()).catch(() => undefined)
  secure.destroy()
  return certificate?.fingerprint256 ?? null
}

/** Makes a domain with a host of its own for links, and waits until every node shows one certificate for it. */
async function certify(name: string, ...running: TestNode[]): Promise<void> {
  await addDomain(name, { tracking_subdomain: 'links' })
  await expect
    .poll(
      async () => {
        // What SIGHUP does.
        for (const { relay } of running) await relay.reload(relay.services.config)
        const seen: (string | null)[] = []
        for (let place = 0; place < 4; place++) seen.push(await shown(nodes.ports[8443], `links.${name}`))
        return new Set(seen).size === 1 ? seen[0] : null
      },
      { interval: 200 },
    )
    .not.toBeNull()
}

test('one certificate for all is got through the balancer, by TLS-ALPN-01, or by HTTP-01 from the node that goes on', async () => {
  await certify('one.example', nodes.a, nodes.b)
  await nodes.a.relay.stop()
  await certify('two.example', nodes.b, await nodes.startAgain())
  expect(pebble.orders()).toBe(2)
  expect(await everywhere('GET', '/session', { cookie: (await logIn(owner)).cookie })).toEqual([200])
})
