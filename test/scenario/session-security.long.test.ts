import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiOperations } from '../../src/api/resource/operations.ts'
import type { ApiServices } from '../../src/api/resource/operation-services.ts'
import type { Operation } from '../../src/api/operation/operation.ts'
import { startFakeMx, type FakeMx } from '../support/fake-mx.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const password = 'correct horse battery'
const ours = 'https://mail.example.com'
const html = 'text/html,application/xhtml+xml,*/*;q=0.8'

let relay: TestRelay
let inbox: FakeMx
let accountId: string
let users = 0

beforeAll(async () => {
  inbox = await startFakeMx({ host: '127.0.3.12' })
  relay = await startTestRelay({ base_url: ours, delivery_port: String(inbox.port) }, { 'people.example': { a: ['127.0.3.12'] } })
  accountId = relay.relay.services.accounts.getAccount('test').id
})

afterAll(async () => {
  await relay.stop()
  await inbox.close()
})

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

/** Unlike `fetch`, this sends any Host field, and follows nothing. */
const ask = (method: string, path: string, headers: Record<string, string> = {}, body = ''): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const asked = request(
      relay.baseUrl + path,
      { method, headers: { 'content-length': String(Buffer.byteLength(body)), ...headers } },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (part: string) => (text += part))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded', accept: html }
const cookieOf = ({ headers }: Answer): string => String(headers['set-cookie'] ?? '').split(';')[0] ?? ''

async function invite(): Promise<{ email: string; path: string }> {
  const email = `user${++users}@people.example`
  const { token } = await relay.relay.services.people.users.invite({ accountId, email, role: 'owner', operator: true })
  return { email, path: `/invite/${token}` }
}

async function logIn(headers: Record<string, string> = {}): Promise<{ email: string; cookie: string }> {
  const { email, path } = await invite()
  await relay.relay.services.people.users.takeInvitation(path.slice('/invite/'.length), password)
  return { email, cookie: cookieOf(await ask('POST', '/session', { ...json, ...headers }, JSON.stringify({ email, password }))) }
}

const changing = apiOperations({} as ApiServices).filter(({ path, method }) => path.startsWith('/session') && method !== 'GET')
const nameOf = ({ method, path }: Operation): string => `${method} ${path}`

const foreign: Record<string, string>[] = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: `${ours}.evil.example` },
  { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'cross-site', origin: ours },
  { 'sec-fetch-site': 'unheard-of' },
]

test.each(changing.map((declared) => [nameOf(declared), declared] as const))(
  'no page of another site gets through to %s',
  async (_, declared) => {
    const { cookie } = await logIn()
    const path = declared.path.replace('{id}', 'ses_01m84xdaph2s5h31m8bqsag0az')
    const body = declared.body ? JSON.stringify(declared.body.example ?? {}) : ''
    const bodyHeaders = declared.body ? json : {}
    for (const headers of foreign) {
      const refused = await ask(declared.method, path, { cookie, ...bodyHeaders, ...headers }, body)
      expect([headers, refused.status, JSON.parse(refused.text).name]).toEqual([headers, 403, 'foreign_origin'])
      expect(refused.headers['set-cookie']).toBeUndefined()
      expect(refused.headers['access-control-allow-origin']).toBeUndefined()
    }
    expect((await ask('GET', '/session', { cookie })).status).toBe(200)
    const own = await ask(declared.method, path, { cookie, ...bodyHeaders, origin: ours, 'sec-fetch-site': 'same-origin' }, body)
    expect(own.status).not.toBe(403)
  },
)

test('a browser that asks first whether another site may call is told no', async () => {
  const asked = {
    origin: 'https://evil.example',
    'access-control-request-method': 'DELETE',
    'access-control-request-headers': 'content-type',
  }
  for (const declared of changing) {
    const answer = await ask('OPTIONS', declared.path.replace('{id}', 'x'), asked)
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  }
})

test('every way in gives a new cookie, never one that was offered, and ends the session that was brought along', async () => {
  const planted = `__Host-sterna_session=${'a'.repeat(43)}`
  const first = await invite()
  const ways = [
    async (cookie: string) => ask('POST', first.path, { ...form, cookie }, String(new URLSearchParams({ password }))),
    async (cookie: string) => ask('POST', '/session', { ...json, cookie }, JSON.stringify({ email: first.email, password })),
  ]
  const seen = new Set([planted])
  let before = planted
  for (const enter of ways) {
    const cookie = cookieOf(await enter(before))
    expect(cookie).toMatch(/^__Host-sterna_session=[\w-]{43}$/)
    expect(seen.has(cookie)).toBe(false)
    expect((await ask('GET', '/session', { cookie: before })).status).toBe(401)
    expect((await ask('GET', '/session', { cookie })).status).toBe(200)
    seen.add(cookie)
    before = cookie
  }
  // Of several cookies of that name the first one counts, and one that was planted ends nobody's session.
  expect((await ask('GET', '/session', { cookie: `${planted}; ${before}` })).status).toBe(401)
  expect((await ask('GET', '/session', { cookie: before })).status).toBe(200)
})

test('no page may be framed, and none is kept by what lies between', async () => {
  const { path } = await invite()
  const pages = ['/', '/login', '/me', '/people?view=audit', path, '/invite/nothing', '/setup/nothing', '/reset/nothing', '/u/nothing']
  for (const page of pages) {
    const { headers } = await ask('GET', page, { accept: html })
    expect([page, headers['content-security-policy']]).toEqual([page, expect.stringContaining("frame-ancestors 'none'")])
    expect([page, headers['x-frame-options'], headers['x-content-type-options']]).toEqual([page, 'DENY', 'nosniff'])
    expect([page, headers['cache-control']]).toEqual([page, expect.stringMatching(/^(?:no-store|no-cache)$/)])
  }
})

const evil = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', forwarded: 'host=evil.example' }

test('whatever host a request names, links and redirects lead here', async () => {
  const { email, cookie } = await logIn(evil)
  expect((await ask('POST', '/session/password/reset', { ...json, ...evil }, JSON.stringify({ email }))).status).toBe(202)
  // Mails about changed passwords come too.
  const resetMail = () => inbox.messages.map(({ data }) => data.toString()).find((text) => text.includes('/reset/'))
  await expect.poll(resetMail).toBeDefined()
  const mail = resetMail() ?? ''
  const path = /https:\/\/mail\.example\.com(\/reset\/[\w.-]+)/.exec(mail)?.[1] ?? ''
  expect(mail).not.toContain('evil')
  const { text } = await ask('POST', '/session/token', { cookie, ...evil })
  const authorization = `Bearer ${JSON.parse(text).token}`
  const body = JSON.stringify({ email: 'bob@people.example', role: 'member' })
  const invited = JSON.parse((await ask('POST', '/api/users', { ...json, ...evil, authorization }, body)).text)
  expect(invited.invitation_url).toMatch(/^https:\/\/mail\.example\.com\/invite\//)
  const places = [
    [path, '/login'],
    [new URL(invited.invitation_url).pathname, '/'],
  ] as const
  for (const [link, next] of places) {
    const used = await ask('POST', link, { ...form, ...evil }, String(new URLSearchParams({ password: 'another horse staple' })))
    expect([used.status, used.headers.location]).toEqual([303, next])
  }
})

test('under the name of somebody else there is no dashboard', async () => {
  const shell = await ask('GET', '/login', { accept: html, host: 'links.customer.example' })
  expect([shell.status, shell.headers['content-type']]).toEqual([404, expect.stringContaining('json')])
  expect((await ask('GET', '/login', { accept: html, host: 'mail.example.com' })).status).toBe(200)
})

test.each(['//evil.example/', '/\\evil.example/', '/%2f%2fevil.example/', '/login?next=https://evil.example/', '//evil.example/..%2f'])(
  'nobody is led away by %s',
  async (path) => {
    const { status, headers } = await ask('GET', path, { accept: html, host: 'mail.example.com' })
    expect(headers.location).toBeUndefined()
    expect(Math.trunc(status / 100)).not.toBe(3)
  },
)
