import { expect, onTestFinished, test } from 'vitest'
import { EventFeed } from '../../../../src/mail/event/event-feed.ts'
import { EmailComposer } from '../../../../src/api/resource/email-composer.ts'
import { BodyBudget } from '../../../../src/api/http/body-budget.ts'
import { compatApis } from '../../../../src/api/http/compat/compat-apis.ts'
import { MessageReader } from '../../../../src/mail/message/message-reader.ts'
import type { AcceptBatch } from '../../../../src/mail-in/submission/accept-batch.ts'
import { aloneWithChanges } from '../../../../src/platform/store/changes.ts'
import { StorageFullError } from '../../../../src/platform/store/database.ts'
import { SuppressionEntries } from '../../../../src/mail/suppression/suppression-entries.ts'
import { silentLog } from '../../../../src/platform/log.ts'
import { TemplateList } from '../../../../src/mail/template/template-list.ts'
import { startApiServer } from '../../../support/api-server.ts'
import { settableClock } from '../../../support/settable-clock.ts'
import { testDatabase } from '../../../support/test-database.ts'
import { unsubscribeContext } from '../../../support/submission-fixture.ts'

const basic = (key: string): string => `Basic ${Buffer.from(`api:${key}`).toString('base64')}`
const form = 'application/x-www-form-urlencoded'
const raw = new URLSearchParams({ to: 'ann@example.com', message: 'From: app@sender.example\n\nHello' }).toString()
const requests: [path: string, headers: (key: string) => Record<string, string>, body: string][] = [
  [
    '/compat/sendgrid/v3/mail/send',
    (key) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' }),
    '{"from":{"email":"app@sender.example"},"subject":"a","content":[{"type":"text/plain","value":"b"}],"personalizations":[{"to":[{"email":"ann@example.com"}]}]}',
  ],
  [
    '/compat/postmark/email',
    (key) => ({ 'x-postmark-server-token': key, 'content-type': 'application/json' }),
    '{"From":"app@sender.example","To":"ann@example.com","Subject":"a","TextBody":"b"}',
  ],
  [
    '/compat/mailgun/v3/sender.example/messages',
    (key) => ({ authorization: basic(key), 'content-type': form }),
    'from=app%40sender.example&to=ann%40example.com&subject=a&text=b',
  ],
  [
    '/compat/postal/api/v1/send/message',
    (key) => ({ 'x-server-api-key': key, 'content-type': 'application/json' }),
    '{"from":"app@sender.example","to":["ann@example.com"],"subject":"a","plain_body":"b"}',
  ],
  ['/compat/mailgun/v3/sender.example/messages.mime', (key) => ({ authorization: basic(key), 'content-type': form }), raw],
]

/** The compat APIs before a way in that fails like this. */
async function serverFailing(error: Error, acceptBatch?: AcceptBatch) {
  const clock = settableClock()
  const fail = (): Promise<never> => Promise.reject(error)
  const db = await testDatabase()
  const templates = new TemplateList({ db, clock, changes: aloneWithChanges })
  const composer = new EmailComposer({
    clock,
    log: silentLog,
    templates: templates.live,
    messageSizeLimit: 1024 * 1024,
    unsubscribe: () => unsubscribeContext,
  })
  onTestFinished(() => composer.stop())
  const apis = compatApis({
    clock,
    composer,
    accept: fail,
    acceptBatch: acceptBatch ?? fail,
    bodyRoom: new BodyBudget(),
    db,
    baseUrl: 'https://mail.example.com',
    eventFeed: new EventFeed(db),
    suppressions: new SuppressionEntries({ db, clock, erasedAddress: (address) => address }),
    messages: new MessageReader(db),
    hostname: 'mail.example.com',
    traceClients: false,
    messageSizeLimit: 1024 * 1024,
    verifiedDomainFor: (_, name) => ({ id: 'dom_1', name, tracking: { opens: false, clicks: false } }),
  })
  const api = await startApiServer(() => [], { compatApis: apis })
  const key = await api.token()
  const answers = requests.map(async ([path, headers, body]) => {
    const response = await fetch(api.url + path, { method: 'POST', headers: headers(key), body })
    return { status: response.status, body: await response.json() }
  })
  return { api, key, answers: await Promise.all(answers) }
}

test('a fault of ours is told without its reason, in the form of each service, and logged', async () => {
  const { api, answers } = await serverFailing(new Error('the secret reason'))
  const message = expect.stringContaining('went wrong on our side')
  expect(answers).toEqual([
    { status: 500, body: { errors: [{ message, field: null, help: null }], id: expect.stringMatching(/^req_/) } },
    { status: 500, body: { ErrorCode: 500, Message: message } },
    { status: 500, body: { message } },
    { status: 500, body: { status: 'error', time: 0, flags: {}, data: { code: 'internal_server_error', message } } },
    { status: 500, body: { message } },
  ])
  expect(JSON.stringify(answers)).not.toContain('secret')
  expect(api.logged.filter((line) => line.includes('the secret reason'))).toHaveLength(5)
})

test('a full disk is told in a way that clients wait for', async () => {
  const { answers } = await serverFailing(new StorageFullError())
  expect(answers.map(({ status }) => status)).toEqual([507, 503, 507, 507, 507])
})

test('where the disk fills up amid a large batch, what was sent before is told', async () => {
  let calls = 0
  const { api, key } = await serverFailing(new StorageFullError(), ({ items }) => {
    if (++calls > 1) return Promise.reject(new StorageFullError())
    const taken = {
      messageId: 'em_1',
      messageIdHeader: '<1@mail.example.com>',
      createdAt: 0,
      replayed: false,
      status: 'queued' as const,
      recipients: [],
    }
    return Promise.resolve({ replayed: false, errors: [], emails: items.map(() => taken) })
  })
  const message = requests[1]?.[2]
  const response = await fetch(`${api.url}/compat/postmark/email/batch`, {
    method: 'POST',
    headers: { 'x-postmark-server-token': key, 'content-type': 'application/json' },
    body: `[${Array.from({ length: 150 }, () => message).join(',')}]`,
  })
  const codes = ((await response.json()) as { ErrorCode: number }[]).map(({ ErrorCode }) => ErrorCode)
  expect({ status: response.status, codes }).toEqual({
    status: 200,
    codes: Array.from({ length: 150 }, (_, place) => (place < 100 ? 0 : 503)),
  })
})
