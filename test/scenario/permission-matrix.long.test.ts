import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiServices } from '../../src/api/resource/operation-services.ts'
import { apiOperations } from '../../src/api/resource/operations.ts'
import type { CompatServices } from '../../src/api/http/compat/compat-api.ts'
import { compatApis } from '../../src/api/http/compat/compat-apis.ts'
import { refusalsOf } from '../../src/api/operation/operation-refusals.ts'
import { namesOf, needsKey, type Operation } from '../../src/api/operation/operation.ts'
import { servedAnswerCheck, type AnswerCheck } from '../support/answer-check.ts'
import { makeCallers, type Caller } from '../support/callers.ts'
import { keepReturnedMail } from '../support/keep-returned-mail.ts'
import { keepSmarthost } from '../support/keep-smarthost.ts'
import { keepStsPolicy } from '../support/keep-sts-policy.ts'
import { keepTlsReport } from '../support/keep-tls-report.ts'
import { makeObjects, pathTo, plantedSecret } from '../support/owned-objects.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const operations = apiOperations({} as ApiServices).filter(needsKey)
const paths = operations.flatMap((declared) =>
  namesOf(declared).map(({ path }) => ({ declared, path, name: `${declared.method} ${path}` })),
)

let relay: TestRelay
let check: AnswerCheck
let callers: Caller[]
let objects: Record<string, string>
let cells = 0

beforeAll(async () => {
  relay = await startTestRelay({ plans: 'enterprise=10000000', http_failed_authentications_per_minute: '0' })
  check = await servedAnswerCheck(relay.baseUrl, 'by default')
  callers = await makeCallers(relay)
  const { accounts, people } = relay.relay.services
  const own = accounts.findAccount('test')!.id
  const userId = people.users.list(own).find(({ role }) => role === 'member')!.id
  const feedbackId = await keepReturnedMail(relay.relay.services, own)
  objects = await makeObjects((method, path, body) => relay.call(method, path, body), {
    accountId: own,
    domain: 'sender.example',
    userId,
    feedbackId,
    tlsReportId: await keepTlsReport(relay.relay.services),
    stsDomain: await keepStsPolicy(relay.relay.services),
    ...(await keepSmarthost(relay.relay.services)),
  })
})

afterAll(async () => {
  await relay.stop()
  console.log(`${paths.length} endpoints × ${callers.length} callers, and other accounts' ids: ${cells} cells`)
})

interface Cell {
  status: number
  text: string
  name: string | undefined
}

async function ask(caller: Caller, { declared, path }: { declared: Operation; path: string }, body: unknown): Promise<Cell> {
  const response = await fetch(`${relay.baseUrl}${path}`, {
    method: declared.method,
    headers: {
      ...(caller.authorization === undefined ? {} : { authorization: caller.authorization }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { status, headers } = response
  cells++
  if (headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel()
    return { status, text: '', name: undefined }
  }
  const text = await response.text()
  check(declared.method, path, { status, headers, text })
  // The id of the request, and what was asked for, are in the answer.
  return {
    status,
    text: text.replace(/"request_id":"req_\w+"/, '').replace(/[a-z]{2,5}_[0-9a-z]{26}/g, 'id'),
    name: text.startsWith('{') ? (JSON.parse(text) as { name?: string }).name : undefined,
  }
}

/** Of a path with ids the body that is meant to be sent there; elsewhere nothing that would make something. */
const bodyFor = ({ body, path }: Operation): unknown => (body ? (path.includes('{') ? (body.example ?? {}) : {}) : undefined)

const isValid = ({ body }: Operation, sent: unknown): boolean => !body || (!body.as && body.schema.safeParse(sent).success)

/** What the declaration of an endpoint says that this caller is told of something that does not exist. */
function expected(caller: Caller, declared: Operation, sent: unknown): number[] {
  if (caller.refused) return [401]
  if (declared.permission !== null && !caller.rights.includes(declared.permission)) return [403]
  if (caller.confined && declared.method !== 'GET' && !declared.sandbox) return [403]
  if (!caller.confined && declared.sandbox === 'only') return [403]
  if (!isValid(declared, sent)) return [400, 422]
  const refusals = refusalsOf(declared)
  if (declared.path.includes('{') && refusals.includes('not_found')) return [404]
  // Some need one field or another, which their schemas cannot say.
  const needsMore =
    refusals.includes('missing_required_field') || (refusals.includes('invalid_parameter') && !('limit' in (declared.query ?? {})))
  // Others are for a state that this server is not in.
  const needsState = refusals.includes('invalid_state')
  return [...declared.answers.map(({ status }) => status), ...(needsMore ? [422] : []), ...(needsState ? [409] : [])]
}

describe('who may do what', () => {
  test.each(paths)('$name', async ({ declared, path }) => {
    const sent = bodyFor(declared)
    const wrong: string[] = []
    for (const caller of callers) {
      const { status, name, text } = await ask(caller, { declared, path: pathTo(path, objects, { exists: false }) }, sent)
      const wanted = expected(caller, declared, sent)
      const refusal = status === 401 ? caller.refused : status === 403 ? 'restricted_api_key' : name
      if (!wanted.includes(status) || refusal !== name)
        wrong.push(`${caller.name}: ${status} ${name}, not ${wanted.join(' or ')}: ${text.slice(0, 200)}`)
    }
    expect(wrong).toEqual([])
  })
})

describe('nobody without full access is told a secret', () => {
  const reads = paths.filter(({ declared: { method, permission } }) => method === 'GET' && permission === 'read_access')
  test.each(reads)('$name', async ({ declared, path }) => {
    const own = relay.relay.services.accounts.findAccount('test')!.id
    const told = []
    for (const caller of callers.filter(({ accountId, refused }) => accountId === own && !refused)) {
      const { text } = await ask(caller, { declared, path: pathTo(path, objects, { exists: true }) }, undefined)
      if (!caller.rights.includes('full_access') && /whsec_/.test(text)) told.push(caller.name)
      if (!caller.rights.includes('full_access') && text.includes(plantedSecret)) told.push(caller.name)
    }
    expect(told).toEqual([])
  })
})

describe("what is another account's does not exist", () => {
  const withIds = paths.filter(({ declared, path }) => path.includes('{') && declared.permission !== 'operator')
  test.each(withIds)('$name', async ({ declared, path }) => {
    const sent = bodyFor(declared)
    for (const caller of callers.filter(({ name }) => name === "another account's key" || name === 'the owner of another account')) {
      const theirs = await ask(caller, { declared, path: pathTo(path, objects, { exists: true }) }, sent)
      const nobodys = await ask(caller, { declared, path: pathTo(path, objects, { exists: false }) }, sent)
      expect(theirs).toEqual(nobodys)
      expect(expected(caller, declared, sent)).toContain(theirs.status)
    }
  })

  test('and none of it was changed', async () => {
    const own = callers.find(({ name }) => name === 'an operator')!
    for (const { declared, path } of withIds.filter(({ declared }) => declared.method === 'GET')) {
      expect(await ask(own, { declared, path: pathTo(path, objects, { exists: true }) }, undefined)).toMatchObject({ status: 200 })
    }
  })
})

describe('the APIs of other services', () => {
  /** How each service's clients show their key. */
  const credentials: Record<string, (token: string) => Record<string, string>> = {
    SendGrid: (token) => ({ authorization: `Bearer ${token}` }),
    Mailgun: (token) => ({ authorization: `Basic ${btoa(`api:${token}`)}` }),
    Postmark: (token) => ({ 'x-postmark-server-token': token }),
    Postal: (token) => ({ 'x-server-api-key': token }),
  }
  const declared = compatApis({} as CompatServices).flatMap(({ prefix, service, routes, actions = [] }) =>
    [...routes.map(({ path }) => ({ method: 'POST', path, permission: 'sending_access' as const })), ...actions].map(
      ({ method, path, permission }) => ({ method, path: prefix + path, permission, service }),
    ),
  )

  test('are all in the OpenAPI document', async () => {
    const document = (await fetch(`${relay.baseUrl}/openapi.json`).then((answer) => answer.json())) as { paths: object }
    const known = Object.keys(document.paths).filter((path) => path.startsWith('/compat/'))
    expect(known.toSorted()).toEqual([...new Set(declared.map(({ path }) => path))].toSorted())
  })

  test.each(declared)('$method $path', async ({ method, path, permission, service }) => {
    const own = path.replace('{domain}', 'sender.example').replace(/\{\w+\}/g, '1')
    const wrong: string[] = []
    for (const caller of callers) {
      const token = caller.authorization?.replace(/^Bearer /, '')
      const shown = token === undefined ? {} : credentials[service]!(token)
      const response = await fetch(relay.baseUrl + own, {
        method,
        headers: { ...shown, 'content-type': 'application/json' },
        ...(method === 'GET' ? {} : { body: '{}' }),
      })
      const { status, headers } = response
      const text = await response.text()
      check(method, own, { status, headers, text })
      cells++
      // Users who are logged in have tokens for our own API alone.
      const isKnown = !caller.refused && caller.isKey
      const wanted = !isKnown ? 'unknown' : caller.rights.includes(permission) ? 'heard' : 'refused'
      const isOfAnother = own.includes('sender.example') && caller.accountId !== objects['/api/accounts/{id}']
      const found = heardAs(service, status, text)
      if (!sameTo(service, found, wanted) && !(isOfAnother && found === 'refused')) wrong.push(`${caller.name}: ${status}, yet ${wanted}`)
    }
    expect(wrong).toEqual([])
  })
})

type Hearing = 'unknown' | 'refused' | 'failed' | 'heard'

/** What became of a caller; Postal says everything with 200 and a code. */
function heardAs(service: string, status: number, text: string): Hearing {
  if (service === 'Postal' && status === 200) {
    const { code } = (JSON.parse(text) as { data: { code?: string } }).data
    return code === 'InvalidServerAPIKey' || code === 'AccessDenied' ? 'unknown' : 'heard'
  }
  return status === 401 ? 'unknown' : status === 403 ? 'refused' : status >= 500 ? 'failed' : 'heard'
}

/** Postmark and Postal know no other refusal of a key. */
const sameTo = (service: string, found: Hearing, wanted: Hearing): boolean =>
  found === wanted || ((service === 'Postmark' || service === 'Postal') && wanted === 'refused' && found === 'unknown')

test('what is live does not exist in the sandbox', async () => {
  const sandbox = callers.find(({ name }) => name === 'a sandbox key')!
  const divided = /^\/api\/(emails|webhooks|suppressions|events)\//
  for (const { declared, path } of paths.filter(({ path }) => divided.test(path) && path.includes('{'))) {
    const sent = bodyFor(declared)
    const live = await ask(sandbox, { declared, path: pathTo(path, objects, { exists: true }) }, sent)
    expect(live).toEqual(await ask(sandbox, { declared, path: pathTo(path, objects, { exists: false }) }, sent))
  }
})

test('nothing is sent for a suspended account, with whatever endpoint', async () => {
  const suspended = callers.find(({ name }) => name === "a suspended account's key")!
  const email = { from: 'app@sender.example', to: 'a@example.com', subject: 'Hello', text: 'Hello' }
  for (const { declared, path } of paths.filter(({ declared }) => declared.body?.as && declared.permission === 'sending_access')) {
    const sent = path.endsWith('/batch') ? [email] : email
    expect(await ask(suspended, { declared, path }, sent)).toMatchObject({ status: 403, name: 'account_suspended' })
  }
})
