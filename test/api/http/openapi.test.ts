import { expect, test } from 'vitest'
import { errorNames } from '../../../src/platform/error-table.ts'
import { webhookEventTypes } from '../../../src/mail/event/event-type.ts'
import type { ApiRoutes } from '../../../src/api/http/api-state.ts'
import { sizeText, standardBodyLimit } from '../../../src/api/operation/body-limits.ts'
import type { ApiServices } from '../../../src/api/resource/operation-services.ts'
import { apiOperations } from '../../../src/api/resource/operations.ts'
import { addCompatRoutes, type CompatServices } from '../../../src/api/http/compat/compat-api.ts'
import { compatApis } from '../../../src/api/http/compat/compat-apis.ts'
import { openApiDocument } from '../../../src/api/http/openapi.ts'
import { refusalsOf } from '../../../src/api/operation/operation-refusals.ts'
import { namesOf } from '../../../src/api/operation/operation.ts'
import { RouteTable } from '../../../src/api/http/route-table.ts'
import { addRoutes, type RouteServices } from '../../../src/api/http/routes.ts'
import { serverOperations } from '../../../src/api/http/server-operations.ts'
import { startApiServer } from '../../support/api-server.ts'

const about = {
  version: '1.2.3',
  baseUrl: 'https://mail.example.com',
  docs: true,
  health: { faults: [], isServing: true },
  webhooks: { timeout: 15_000, retrySchedule: [60_000, 300_000] },
}
const operations = [...apiOperations({} as ApiServices), ...serverOperations(about, () => [])]
const apis = compatApis({} as CompatServices)
const document = openApiDocument(operations, { ...about, compatApis: apis })

type Json = Record<string, unknown>

/** Every schema in a part of the document, by where it stands. */
function* schemasIn(json: unknown, place = ''): Generator<[string, Json]> {
  if (json === null || typeof json !== 'object') return
  for (const [key, value] of Object.entries(json)) {
    const at = `${place}/${key}`
    if (key === 'schema') yield [at, value as Json]
    if (key === 'properties' || key === 'schemas')
      for (const [name, schema] of Object.entries(value as Json)) yield [`${at}/${name}`, schema as Json]
    if (key === 'items') yield [at, value as Json]
    if (key !== 'example' && key !== 'examples') yield* schemasIn(value, at)
  }
}

test('the document has every route of the router, and no other', () => {
  const table: ApiRoutes = new RouteTable()
  for (const declared of operations) addRoutes(table, declared, {} as RouteServices)
  for (const api of apis) addCompatRoutes(table, api, { record: async () => {} })
  const routes = table.routes.map(({ path, method }) => `${method} ${path}`)
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(documented.toSorted()).toEqual(routes.toSorted())
})

test('each operation has one type of answer, JSON or CSV', () => {
  const answers = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId, responses }) => {
      const contents = Object.entries(responses as Record<string, { content?: object }>).filter(([status]) => status.startsWith('2'))
      return [operationId as string, contents.flatMap(([, { content }]) => Object.keys(content ?? {}))] as const
    }),
  )
  const types = Map.groupBy(answers, ([, found]) => new Set(found).size)
  expect([...types.keys()].toSorted()).toEqual([0, 1])
  expect(answers.filter(([, found]) => found.includes('text/csv')).map(([id]) => id)).toEqual([
    'analytics.get_csv',
    'analytics.get_latency_csv',
    'analytics.list_links_csv',
    'suppressions.export',
  ])
})

test('each pattern means the same with the flag u and without, which generators leave out', () => {
  const patterns = [...schemasIn(document)].flatMap(([at, { pattern }]) =>
    pattern === undefined ? [] : [{ at, pattern: String(pattern) }],
  )
  expect(patterns.length).toBeGreaterThan(10)
  expect(patterns.filter(({ pattern }) => /\\[pP]\{|\\u\{|[^\0-\uffff]/u.test(pattern))).toEqual([])
  for (const { pattern } of patterns) expect(() => new RegExp(pattern, 'u')).not.toThrow()
})

test('only these take more than 64 KiB, and each says how much it takes', () => {
  const large = operations.filter(({ body }) => (body?.limit ?? standardBodyLimit) > standardBodyLimit)
  const limits = large.map(({ id, body }) => [id, sizeText(body!.limit!)])
  expect(Object.fromEntries(limits)).toEqual({
    'emails.send': '35 MiB',
    'emails.send_batch': '35 MiB',
    'previews.create': '8 MiB',
    'smarthost_reports.mailgun': '512 KiB',
    'smarthost_reports.postmark': '4 MiB',
    'smarthost_reports.sendgrid': '4 MiB',
    'smarthost_reports.ses': '512 KiB',
    'suppressions.create': '512 KiB',
    'suppressions.create_batch': '512 KiB',
    'suppressions.delete_batch': '512 KiB',
    'templates.create': '16 MiB',
    'templates.publish': '512 KiB',
    'templates.render': '512 KiB',
    'templates.render_unsaved': '16 MiB',
    'templates.test': '512 KiB',
    'templates.update': '16 MiB',
  })
  const told = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ requestBody }) => (requestBody ? [(requestBody as { description: string }).description] : [])),
  )
  expect(told.filter((text) => !/^At most \d+ [KM]iB\.$/.test(text))).toEqual([])
  expect(document.paths['/api/webhooks']!.post!.requestBody).toMatchObject({ description: 'At most 64 KiB.' })
})

test('no schema says nothing', () => {
  const silent = [...schemasIn(document)].filter(([, schema]) => Object.keys(schema).length === 0).map(([place]) => place)
  expect(silent).toEqual([])
})

test('every error that can reach a caller is told of, and every one that an endpoint refuses with is known', () => {
  const { ErrorName } = document.components.schemas as { ErrorName: { enum: string[] } }
  expect(ErrorName.enum).toEqual(errorNames)
  // What is not in the document has no method to be wrong.
  expect(Object.keys(document.components.examples ?? {})).toEqual(errorNames.filter((name) => name !== 'method_not_allowed'))
  for (const declared of operations) expect(errorNames).toEqual(expect.arrayContaining(refusalsOf(declared)))
  const refused = new Set(operations.flatMap((declared) => refusalsOf(declared)))
  expect(errorNames.filter((name) => !refused.has(name))).toEqual(['method_not_allowed'])
})

test('a parameter that a handler does without is not demanded, and one that it needs is', () => {
  const demanded = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
      (parameters as Json[])
        .filter((parameter) => parameter.in === 'query' && parameter.required)
        .map(({ name }) => `${method} ${path}?${String(name)}`),
    ),
  )
  expect(demanded).toEqual(['get /api/explain?to', 'get /api/routes/explain?from', 'get /api/routes/explain?to'])
})

test('where a body names events, the document says which there are', () => {
  type Content = { content: Record<string, { schema: { properties: Record<string, Json> } }> }
  const bodyOf = (path: string) => (document.paths[path]!.post!.requestBody as Content).content['application/json']?.schema.properties
  expect(bodyOf('/api/webhooks/{id}/test')?.type).toEqual({
    type: 'string',
    enum: webhookEventTypes,
    description: 'Default: `email.delivered`.',
  })
  expect(bodyOf('/api/webhooks')?.events).toMatchObject({
    anyOf: [{ type: 'array', minItems: 1, items: { type: 'string', enum: webhookEventTypes } }, { type: 'null' }],
  })
})

test('an id names one operation', () => {
  const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
  expect(ids.filter((id, place) => ids.indexOf(id) !== place)).toEqual([])
})

test('operations have one kind of name', () => {
  const ids = operations.flatMap((declared) => namesOf(declared).map(({ id }) => id))
  expect(ids.filter((id) => !/^[a-z]+(?:_[a-z]+)*\.[a-z]+(?:_[a-z]+)*$/.test(id))).toEqual([])
  const ofPath = (path: string, method: string) => document.paths[path]?.[method]?.operationId
  expect([ofPath('/api/send', 'post'), ofPath('/api/emails', 'post')]).toEqual(['emails.send', 'emails.create'])
})

test('a parameter that is a number is typed as one', () => {
  const parameters = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap((each) => (each.parameters ?? []) as Json[]),
  )
  const limits = parameters.filter(({ name }) => name === 'limit').map(({ schema }) => schema)
  expect(limits[0]).toEqual({ type: 'integer', minimum: 1, maximum: 100 })
  const digits = parameters.filter(({ schema }) => (schema as Json).type === 'string' && /\\d/.test(String((schema as Json).pattern)))
  expect(digits).toEqual([])
})

test('the times of posts to webhooks are those of the settings', () => {
  const described = (timeout: number, retrySchedule: number[]) => {
    const { webhooks } = openApiDocument([], { ...about, webhooks: { timeout, retrySchedule } })
    return (webhooks as Record<string, { post: { description: string } }>)['email.sent']?.post.description
  }
  expect(described(15_000, [60_000, 5_400_000, 86_400_000])).toContain(
    'Anything but a 2xx within 15 seconds is a failure, and is tried again 1 minute, 90 minutes, and 24 hours after the attempt before.',
  )
  expect(described(1000, [])).toContain('within 1 second is a failure, and is not tried again.')
})

test('every body that is needed has an example, which is one', () => {
  const bodies = operations.flatMap(({ id, body }) => (body ? [{ id, ...body }] : []))
  expect(bodies.filter(({ example, optional }) => example === undefined && !optional).map(({ id }) => id)).toEqual([])
  for (const { id, schema, example } of bodies)
    if (example !== undefined) expect(schema.safeParse(example), id).toMatchObject({ success: true })
})

test('every tag is described in a sentence', () => {
  const tags = document.tags as { name: string; description: string }[]
  expect(tags.filter(({ name, description }) => description === `${name}.`)).toEqual([])
})

test('the reference begins with what an app needs first, and ends with what it hardly needs', () => {
  const names = (document.tags as { name: string }[]).map(({ name }) => name)
  expect([names[0], names.at(-1)]).toEqual(['Emails', 'Server'])
})

test('the events are webhooks, with their headers and both kinds of payload', () => {
  expect(Object.keys(document.webhooks)).toEqual(webhookEventTypes)
  const { EmailDelivered } = document.components.schemas as Record<string, { properties: { data: { required: string[] } } }>
  expect(EmailDelivered?.properties.data.required).toEqual(['email_id', 'to', 'subject', 'delivered_at'])
})

test('the document, the page and its files are served, and not sent again to those who have them', async () => {
  const api = await startApiServer(() => [])
  const get = (path: string, headers = {}) => fetch(api.url + path, { headers })
  const served = await get('/openapi.json')
  expect(served).toMatchObject({ status: 200 })
  expect(await served.json()).toMatchObject({
    openapi: '3.1.0',
    info: { version: '1.2.3' },
    servers: [{ url: '/' }],
  })
  // Otherwise fetch adds no-cache, which asks for a full answer.
  const known = { 'if-none-match': served.headers.get('etag') ?? '', 'cache-control': 'max-age=0' }
  expect((await get('/openapi.json', known)).status).toBe(304)

  const page = await get('/docs')
  const html = await page.text()
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
  const links = Array.from(html.matchAll(/(?:src|href)="([^"]+)"/g), ([, link = '']) => new URL(link, `${api.url}/docs`))
  expect(links).toHaveLength(5)
  for (const link of links) {
    expect(link.origin).toBe(api.url)
    expect((await fetch(link)).status).toBe(200)
  }
  expect((await get('/docs/package.json')).status).toBe(404)
})

test('the page and the document can be turned off', async () => {
  const api = await startApiServer(() => [], { docs: false })
  expect((await fetch(`${api.url}/docs`)).status).toBe(404)
  expect((await fetch(`${api.url}/openapi.json`)).status).toBe(404)
})

test('where the type of a problem leads, the error is explained', async () => {
  const api = await startApiServer(() => [])
  const problem = await api.request('GET', '/api/emails', { headers: { accept: 'application/problem+json' } })
  const explained = await fetch(String(problem.body.type).replace('https://mail.example.com', api.url))
  expect(await explained.text()).toMatch(/^missing_api_key\n401 Unauthorized\n\n/)
  expect((await fetch(`${api.url}/errors/none`)).status).toBe(404)
})
