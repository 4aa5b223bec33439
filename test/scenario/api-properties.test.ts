import fc from 'fast-check'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import type { OpenApiDocument } from '../../src/http/openapi.ts'
import { answerCheck } from '../support/answer-check.ts'
import { keepReport } from '../support/keep-report.ts'
import { makeObjects } from '../support/owned-objects.ts'
import type { Call } from '../support/owned-objects.ts'
import { fromSchema, hostileValue, idMark, mutated } from '../support/schema-arbitrary.ts'
import { startTestRelay } from '../support/start-relay.ts'

const requests = Number(process.env.STERNA_API_REQUESTS ?? 400)

type Json = Record<string, unknown>

interface GeneratedRequest {
  method: string
  template: string
  parameters: Record<string, string>
  query: [string, string][]
  token: number
  headers: Record<string, string>
  /** Undefined where none is sent. */
  body: string | undefined
}

const awkwardText = fc.oneof(
  fc.constantFrom('%00', '..', '.', 'x'.repeat(3000), "'", '*', 'constructor', '%ff', 'a/b', '?', '#', 'EM_0', 'em_01kahk3yq4x8v5t2n7m9b6c1d0'),
  fc.string({ unit: 'binary', maxLength: 40 }),
)
const someId = fc.oneof({ weight: 5, arbitrary: fc.nat({ max: 9999 }).map((n) => `<id ${n}>`) }, { weight: 1, arbitrary: awkwardText })

const someDomain = fc.oneof({ weight: 5, arbitrary: fc.constantFrom('sender.example', 'example.com', 'simulator.test') }, { weight: 1, arbitrary: awkwardText })

const fromParameter = (schema: Json, root: Json, name: string): fc.Arbitrary<string> =>
  fc.oneof({ weight: 6, arbitrary: fromSchema(schema, root, name).map(String) }, { weight: 1, arbitrary: awkwardText })

/** Requests to one endpoint: most of them as the document has it, the others not. */
function requestsTo(document: OpenApiDocument, template: string, method: string): fc.Arbitrary<GeneratedRequest> {
  const root = document as unknown as Json
  const declared = document.paths[template]![method]!
  const parameters = (declared.parameters ?? []) as { name: string; in: string; schema: Json }[]
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const inQuery = parameters.filter((parameter) => parameter.in === 'query')
  const content = (declared.requestBody as { content?: Record<string, { schema: Json; example?: unknown }> } | undefined)?.content ?? {}
  const [mediaType = 'application/json', { schema, example } = { schema: undefined, example: undefined }] = Object.entries(content)[0] ?? []
  const valid = schema ? fromSchema(schema, root) : fc.constant({})
  const shown = example === undefined ? valid : fc.oneof({ weight: 2, arbitrary: valid }, { weight: 1, arbitrary: fc.constant(example) })
  const body = fc.oneof(
    { weight: 5, arbitrary: shown.map((value) => JSON.stringify(value)) },
    { weight: 4, arbitrary: mutated(shown).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.oneof(hostileValue.map((value) => JSON.stringify(value)), fc.constantFrom(undefined, '', '{', '[1,', '{"a":1,"a":2}', '{"subject":1e309}', '\ufeff{}', '['.repeat(10_000))) },
  )
  return fc.record({
    method: fc.constant(method.toUpperCase()),
    template: fc.constant(template),
    parameters: fc.record(Object.fromEntries(inPath.map(({ name }) => [name, name === 'domain' ? someDomain : someId]))),
    query: fc
      .tuple(
        fc.subarray(inQuery.map(({ name }) => name), { maxLength: Math.min(3, inQuery.length) }),
        fc.record(Object.fromEntries(inQuery.map(({ name, schema: own }) => [name, fromParameter(own, root, name)]))),
      )
      .map(([names, values]) => names.map((name) => [name, (values as Record<string, string>)[name] ?? ''])),
    token: fc.nat({ max: 19 }),
    headers: fc.record(
      {
        'content-type': fc.oneof({ weight: 30, arbitrary: fc.constant(mediaType) }, { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/xml', '') }),
        accept: fc.constantFrom('application/json', 'application/problem+json', '*/*', 'text/html'),
        'idempotency-key': fc.constantFrom('a', 'b', '', 'x'.repeat(257), 'é'),
        prefer: fc.constantFrom('handling=strict', 'handling=lenient'),
        'x-batch-validation': fc.constantFrom('strict', 'permissive', 'no'),
        'last-event-id': someId,
      },
      { requiredKeys: ['content-type'] },
    ),
    body: method === 'get' ? fc.constant(undefined) : body,
  })
}

/** The key, as the clients of that service show it. */
const credentials = (template: string, token: string): Record<string, string> => {
  if (template.startsWith('/compat/postmark/')) return { 'x-postmark-server-token': token }
  return { authorization: template.startsWith('/compat/mailgun/') ? `Basic ${btoa(`api:${token}`)}` : `Bearer ${token}` }
}

/** The ids that were answered so far, by the list that they are members of. */
class KnownIds {
  readonly #all: string[] = []
  readonly #byList = new Map<string, string[]>()
  readonly #kept: Set<string>

  /** `kept` are those whose removal would end the run. */
  constructor(kept: string[]) {
    this.#kept = new Set(kept)
  }

  learn(text: string, template: string): void {
    for (const [, id = ''] of text.matchAll(/"id":"([^"]+)"/g)) {
      if (this.#kept.has(id)) continue
      this.#all.push(id)
      this.#byList.set(template, [...(this.#byList.get(template) ?? []).slice(-50), id])
    }
    if (this.#all.length > 500) this.#all.splice(0, 100)
  }

  /** The text with an id in the place of its mark; one of this list where it has any. */
  fill(text: string, list = ''): string {
    const number = idMark.exec(text)?.[1]
    if (number === undefined) return text
    const ids = Number(number) % 10 === 0 ? this.#all : (this.#byList.get(list) ?? this.#all)
    return ids[Number(number) % Math.max(ids.length, 1)] ?? 'em_01kahk3yq4x8v5t2n7m9b6c1d0'
  }
}

test(`${requests} requests made from the document: each answer is a promised one, and none is a fault of ours`, { timeout: 1_200_000 }, async () => {
  const relay = await startTestRelay({ plans: 'enterprise=10000000', http_failed_authentications_per_minute: '0' })
  try {
    const document = (await fetch(`${relay.baseUrl}/openapi.json`).then((answer) => answer.json())) as OpenApiDocument
    const check = answerCheck(document)
    const { accounts, apiKeys } = relay.relay.parts
    const account = accounts.findAccount('test')!
    const key = async (permission: 'full_access' | 'sending_access' | 'read_access' | 'operator', sandbox = true) =>
      apiKeys.create({ accountId: account.id, name: 'generated', permission, sandbox })
    const keys = [await key('operator'), await key('full_access'), await key('sending_access'), await key('read_access')]
    const tokens = [...Array<number>(12).fill(0), ...Array<number>(5).fill(1), 2, 3].map((place) => keys[place]!.token).concat('not_a_key')

    const ids = new KnownIds([account.id, ...apiKeys.list(account.id).map(({ id }) => id)])
    const reportId = await keepReport(relay.relay.parts, account.id)
    const own = { accountId: account.id, domain: 'sender.example', userId: 'usr_01kahk3yq4x8v5t2n7m9b6c1d0', reportId }
    const call: Call = async (method, path, body) => {
      const headers = { authorization: `Bearer ${tokens[0]}`, 'content-type': 'application/json' }
      const response = await fetch(relay.baseUrl + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
      return { status: response.status, body: await response.json() }
    }
    for (const [template, id] of Object.entries(await makeObjects(call, own))) ids.learn(`"id":"${id}"`, template.replace(/\/[^/]*$/, ''))

    const statuses = new Map<number, number>()
    const reached = new Set<string>()
    const delay = monitorEventLoopDelay({ resolution: 10 })
    delay.enable()
    const startedAt = performance.now()
    const endpoints = Object.entries(document.paths).flatMap(([template, methods]) =>
      Object.keys(methods).map((method) => requestsTo(document, template, method)),
    )
    const property = fc.asyncProperty(fc.oneof(...endpoints), async (request) => {
      const query = new URLSearchParams(request.query.map(([name, value]) => [name, ids.fill(value)] as [string, string])).toString()
      const path = request.template.replace(/\{(\w+)\}/g, (_, name: string, at: number) => {
        const value = ids.fill(request.parameters[name] ?? '', request.template.slice(0, at - 1))
        return encodeURIComponent(value.toWellFormed() || '-')
      })
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, ids.fill(value).replace(/[^\t\x20-\x7e\x80-\xff]/g, '')]),
      )
      const response = await fetch(`${relay.baseUrl}${path}${query === '' ? '' : `?${query}`}`, {
        method: request.method,
        headers: { ...headers, ...credentials(request.template, tokens[request.token]!) },
        redirect: 'manual',
        ...(request.body === undefined ? {} : { body: request.body.replace(/<id \d+>/g, (mark) => ids.fill(mark)).toWellFormed() }),
        signal: AbortSignal.timeout(20_000),
      })
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
      const type = response.headers.get('content-type') ?? ''
      if (response.ok) reached.add(`${request.method} ${request.template}`)
      if (type.startsWith('text/event-stream')) return void (await response.body?.cancel())
      const text = await response.text()
      if (response.status >= 500) throw new Error(`${request.method} ${path} answered ${response.status}: ${text}`)
      // Some paths become others: a segment of dots is taken out before the request is sent.
      check(request.method, new URL(response.url).pathname, { status: response.status, headers: response.headers, text })
      if (response.ok && type.includes('json')) ids.learn(text, request.template)
    })
    await fc.assert(property, { numRuns: requests, endOnFailure: true })
    delay.disable()
    const healthy = await fetch(`${relay.baseUrl}/healthz`)
    expect(healthy.status).toBe(200)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    console.log(`${requests} requests in ${seconds} s to ${endpoints.length} endpoints, ${reached.size} of them with success; longest wait of the main thread ${(delay.max / 1e6).toFixed(0)} ms`)
    console.log([...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`).join(', '))
  } finally {
    await relay.stop()
  }
})
