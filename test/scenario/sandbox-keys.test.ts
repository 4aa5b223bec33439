import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { apiOperations } from '../../src/api/resource/operations.ts'
import type { ApiServices } from '../../src/api/resource/operation-services.ts'
import type { OpenApiDocument } from '../../src/api/http/openapi.ts'
import { namesOf, type Operation } from '../../src/api/operation/operation.ts'
import type { Row } from '../../src/platform/store/database.ts'
import { keepReturnedMail } from '../support/keep-returned-mail.ts'
import { keepSmarthost } from '../support/keep-smarthost.ts'
import { keepStsPolicy } from '../support/keep-sts-policy.ts'
import { keepTlsReport } from '../support/keep-tls-report.ts'
import { makeObjects, pathTo, type Call } from '../support/owned-objects.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { columnsByTable } from '../support/columns-by-table.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const operations = apiOperations({} as ApiServices).filter(({ path }) => path.startsWith('/api/'))
const writing = operations.filter(({ method }) => method !== 'GET')

/** What sandbox keys need. Whoever adds to this shows below that it changes nothing live. */
const open = [
  'api_keys.create',
  'api_keys.delete',
  'api_keys.rotate',
  'api_keys.update',
  'emails.cancel',
  'emails.delete',
  'emails.delete_all',
  'emails.resend',
  'emails.send',
  'emails.send_batch',
  'emails.update',
  'erasures.create',
  'previews.create',
  'suppressions.create',
  'suppressions.create_batch',
  'suppressions.delete',
  'suppressions.delete_batch',
  'templates.render',
  'templates.render_unsaved',
  'templates.test',
  'webhooks.create',
  'webhooks.delete',
  'webhooks.replay',
  'webhooks.replay_delivery',
  'webhooks.replay_event',
  'webhooks.rotate_signing_secret',
  'webhooks.test',
  'webhooks.update',
]

const liveMessages = 'select id from message where sandbox = 0'
const liveDeliveries = 'select id from webhook_delivery where webhook_id in (select id from webhook where sandbox = 0)'
/** Which rows are live, where the columns of a table do not say so; null where it is the server's own book of what was done. */
const special: Record<string, string | null> = {
  audit: null,
  change_log: null,
  change_order: null,
  cursor: null,
  node: null,
  rate_window: null,
  limit_share: null,
  limit_lock: null,
  rollup: null,
  rollup_latency: null,
  rollup_link: null,
  event_block: null,
  search_part: null,
  search_term: null,
  // What its holder alone sees, for a minute.
  preview: null,
  idempotency: "operation not like 'sandbox-%'",
  returned_mail: 'true',
  webhook_attempt: `delivery_id in (${liveDeliveries})`,
  webhook_delivery: `id in (${liveDeliveries})`,
}
/** Those that know neither mode nor message are shared by live mail and the sandbox: all of their rows count. */
function liveIn(table: string, columns: string[]): string | null {
  if (table in special) return special[table] ?? null
  if (columns.includes('sandbox')) return 'sandbox = 0'
  if (columns.includes('message_id')) return `message_id in (${liveMessages})`
  return columns.includes('recipient_id') ? `recipient_id in (select id from recipient where message_id in (${liveMessages}))` : 'true'
}
/** Noted in passing, about once a minute. */
const noted = ['last_used_at', 'last_seen_at']

let relay: TestRelay
let holders: [name: string, call: Call][]
let liveObjects: Record<string, string>
let sandboxObjects: Record<string, string>

beforeAll(async () => {
  relay = await startTestRelay()
  const { accounts, apiKeys, people } = relay.relay.services
  const own = accounts.findAccount('test')!.id
  const token = async (permission: 'full_access' | 'operator') =>
    (await apiKeys.create({ accountId: own, name: permission, permission, sandbox: true })).token
  const { token: invitation } = await people.users.invite({ accountId: own, email: 'owner@users.example', role: 'owner', operator: true })
  const { session } = await people.sessions.begin(await people.users.takeInvitation(invitation, 'a long enough password 1'), {
    address: '127.0.0.1',
    userAgent: 'test',
  })
  holders = [
    ['a key with full access', callerWith(await token('full_access'))],
    ["an operator's key", callerWith(await token('operator'))],
    ["an operator's token", callerWith((await people.sessions.exchange(session, { sandbox: true })).token)],
  ]
  const about = {
    accountId: own,
    domain: 'sender.example',
    userId: people.users.list(own)[0]!.id,
    feedbackId: await keepReturnedMail(relay.relay.services, own),
    tlsReportId: await keepTlsReport(relay.relay.services),
    stsDomain: await keepStsPolicy(relay.relay.services),
    ...(await keepSmarthost(relay.relay.services)),
  }
  liveObjects = await makeObjects(relay.call, about)
  await relay.call('POST', '/api/templates', { name: 'Shared', alias: 'shared', subject: 'Hello', html: '<p>Hello</p>' })
  await relay.call('POST', '/api/templates/shared/publish', {})
  sandboxObjects = await makeSandboxObjects()
})
afterAll(() => relay.stop())

const callerWith =
  (token: string): Call =>
  async (method, path, body) => {
    const response = await fetch(relay.baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      await response.body?.cancel()
      return { status: response.status, body: {} }
    }
    const text = await response.text()
    return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text }
  }

/** What lies in the sandbox; what does not is shared with what is live. */
async function makeSandboxObjects(): Promise<Record<string, string>> {
  const [, call] = holders[0]!
  const make = async (path: string, body: unknown): Promise<string> => {
    const answer = await call('POST', path, body)
    expect(answer.status, path).toBeLessThan(300)
    return answer.body.id
  }
  const webhook = await make('/api/webhooks', { url: 'https://hooks.example/sandbox' })
  const email = await make('/api/emails', { from: 'app@sender.example', to: 'bounced@simulator.test', template: { id: 'shared' } })
  const delivery = await vi.waitFor(async () => {
    const [found] = (await call('GET', `/api/webhooks/${webhook}/deliveries`)).body.data as { id: string; event_id: string }[]
    if (!found) throw new Error('nothing is delivered yet')
    return found
  })
  return {
    ...liveObjects,
    '/api/emails/{id}': email,
    '/api/webhooks/{id}': webhook,
    '/api/webhooks/{id}/deliveries/{delivery_id}': delivery.id,
    '/api/webhooks/{id}/events/{event_id}': delivery.event_id,
    '/api/events/{id}': delivery.event_id,
    '/api/suppressions/{idOrEmail}': await make('/api/suppressions', { email: 'gone@example.com' }),
    '/api/api-keys/{id}': await make('/api/api-keys', { name: 'made' }),
  }
}

/** Every live row, by its table. */
async function liveRows(): Promise<Record<string, Row[]>> {
  const { db } = relay.relay.services
  const rows: Record<string, Row[]> = {}
  for (const [name, known] of Object.entries(await columnsByTable(db))) {
    const condition = liveIn(name, known)
    if (condition === null) continue
    const found = await db.read(`select * from ${name} where ${condition} order by ${known.join(', ')}`)
    rows[name] = found.map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => !noted.includes(column))))
  }
  return rows
}

const isQuiet = async (): Promise<void> => {
  const { db } = relay.relay.services
  await expect.poll(() => db.read('select id from recipient where owner is not null or due_at is not null')).toEqual([])
  await expect.poll(() => db.read("select id from webhook_delivery where state = 'attempting'")).toEqual([])
}

const bodyFor = ({ body }: Operation): unknown => (body && !body.as ? (body.example ?? {}) : body?.example)

test('which operations a sandbox key may use is declared by each', () => {
  expect(
    writing
      .filter(({ sandbox }) => sandbox)
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(open)
  expect(operations.filter(({ method, sandbox }) => method === 'GET' && sandbox)).toEqual([])
})

test('nothing that a sandbox key does changes what is live, and what would is refused', async () => {
  await isQuiet()
  const before = await liveRows()
  for (const name of [
    'account',
    'api_key',
    'content',
    'domain',
    'event',
    'message',
    'suppression',
    'template',
    'webhook',
    'webhook_delivery',
  ])
    expect(before[name], name).not.toEqual([])
  const wrong: string[] = []
  for (const declared of [...operations.filter(({ method }) => method === 'GET'), ...writing]) {
    for (const { path } of namesOf(declared)) {
      for (const [holder, call] of holders) {
        for (const objects of [liveObjects, sandboxObjects]) {
          const { status, body } = await call(declared.method, pathTo(path, objects, { exists: true }), bodyFor(declared))
          const isRefused = status === 403 && body.name === 'restricted_api_key'
          const mustBe = declared.method !== 'GET' && !declared.sandbox
          if (status >= 500 || (mustBe && !isRefused))
            wrong.push(`${holder}: ${declared.method} ${path} was answered ${status} ${JSON.stringify(body).slice(0, 200)}`)
        }
      }
    }
  }
  expect(wrong).toEqual([])
  await isQuiet()
  expect(await liveRows()).toEqual(before)
})

test('a refusal says what to do', async () => {
  const [[, key], , [, user]] = holders as [[string, Call], [string, Call], [string, Call]]
  expect(await key('DELETE', '/api/domains/sender.example')).toMatchObject({
    status: 403,
    body: { name: 'restricted_api_key', message: 'A sandbox key cannot do this, because it changes live data. Use a live key.' },
  })
  expect(await user('DELETE', '/api/domains/sender.example')).toMatchObject({
    status: 403,
    body: { message: 'A sandbox token cannot do this, because it changes live data. Use a live token.' },
  })
})

test('the document says of every change whether a sandbox key may make it', async () => {
  const document = (await fetch(`${relay.baseUrl}/openapi.json`).then((answer) => answer.json())) as OpenApiDocument
  for (const { method, path, sandbox } of writing) {
    const { description } = document.paths[path]![method.toLowerCase()] as { description: string }
    expect(description, `${method} ${path}`).toContain(
      sandbox ? 'With a sandbox key it changes what is in the sandbox' : 'Sandbox keys are refused',
    )
  }
})

test('a sandbox key works in the sandbox', async () => {
  const [, call] = holders[0]!
  const done = async (method: string, path: string, body?: unknown): Promise<any> => {
    const answer = await call(method, path, body)
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300)
    return answer.body
  }
  const email = { from: 'app@anything.example', to: 'softbounced@simulator.test', subject: 'Hello', text: 'Hello' }
  const scheduled = { ...email, scheduled_at: new Date(relay.clock.now() + 3_600_000).toISOString() }
  const { id } = await done('POST', '/api/emails', scheduled)
  await done('PATCH', `/api/emails/${id}`, { scheduled_at: new Date(relay.clock.now() + 7_200_000).toISOString() })
  await done('POST', `/api/emails/${id}/cancel`)
  const { data } = await done('POST', '/api/emails/batch', [email])
  await expect.poll(async () => (await call('GET', `/api/emails/${data[0].id}`)).body.status).toBe('bounced')
  await done('POST', `/api/emails/${data[0].id}/resend`)
  const { id: webhook } = await done('POST', '/api/webhooks', { url: 'https://hooks.example/again' })
  await done('PATCH', `/api/webhooks/${webhook}`, { status: 'disabled' })
  await done('DELETE', `/api/webhooks/${webhook}`)
  const { id: made } = await done('POST', '/api/api-keys', { name: 'another', sandbox: false })
  expect(relay.relay.services.apiKeys.get(made)).toMatchObject({ sandbox: true, confined: true })
  await done('POST', `/api/api-keys/${made}/rotate`, {})
  await done('DELETE', `/api/api-keys/${made}`)
  await done('POST', '/api/templates/shared/render', {})
  await done('POST', '/api/templates/shared/test', { to: 'delivered@simulator.test', from: 'app@anything.example' })
  const { id: suppression } = await done('POST', '/api/suppressions', { email: 'again@example.com' })
  await done('DELETE', `/api/suppressions/${suppression}`)
  for (const path of ['/api/domains/sender.example', '/api/templates/shared', '/api/account', '/api/analytics']) await done('GET', path)
})

test('what is in the sandbox does not exist for a live key', async () => {
  const divided = /^\/api\/(emails|webhooks|suppressions|events)\//
  for (const declared of operations.filter(({ path }) => divided.test(path) && path.includes('{'))) {
    const ask = async (exists: boolean): Promise<string> => {
      const { status, body } = await relay.call(declared.method, pathTo(declared.path, sandboxObjects, { exists }), bodyFor(declared))
      return JSON.stringify({ status, body })
        .replace(/"request_id":"req_\w+"/, '')
        .replace(/[a-z]{2,5}_[0-9a-z]{26}/g, 'id')
    }
    expect(await ask(true)).toBe(await ask(false))
  }
})

test('a rehearsal by SMTP keeps no live mail from being sent', async () => {
  const { accounts, apiKeys, db } = relay.relay.services
  const { token: rehearsing } = await apiKeys.create({
    accountId: accounts.findAccount('test')!.id,
    name: 'smtp',
    permission: 'sending_access',
    sandbox: true,
  })
  const message = 'From: app@sender.example\r\nTo: delivered@simulator.test\r\nSubject: Hello\r\nIdempotency-Key: order-1\r\n\r\nHello'
  const ids: string[] = []
  for (const token of [rehearsing, relay.token]) {
    const client = await SmtpClient.logIn(relay.submissionPort, token)
    const reply = await client.send(message, { from: 'app@sender.example', to: ['delivered@simulator.test'] })
    client.close()
    ids.push(/em_\w+/.exec(reply.last)?.[0] ?? '')
  }
  expect(
    await db.read('select id, sandbox from message where id in (:first, :second) order by sandbox', { first: ids[1]!, second: ids[0]! }),
  ).toEqual([
    { id: ids[1], sandbox: 0 },
    { id: ids[0], sandbox: 1 },
  ])
})
