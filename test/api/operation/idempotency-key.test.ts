import { expect, test } from 'vitest'
import { z } from 'zod'
import { apiOperations } from '../../../src/api/resource/operations.ts'
import type { ApiServices } from '../../../src/api/resource/operation-services.ts'
import { openApiDocument, type OpenApiDocument } from '../../../src/api/http/openapi.ts'
import { operation, takesIdempotencyKey, type Operation } from '../../../src/api/operation/operation.ts'
import { startApiServer, type ApiServer } from '../../support/api-server.ts'

const hour = 3_600_000

/** Endpoints that make cakes; `release` lets those that wait go on. */
async function startBakery(idempotency?: Operation['idempotency']) {
  let baked = 0
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const api = await startApiServer(() => [
    operation({
      id: 'cakes.create',
      method: 'POST',
      path: '/api/cakes/{baker}',
      tag: 'Cakes',
      summary: 'Bake a cake',
      permission: 'full_access',
      sandbox: true,
      ...(idempotency === undefined ? {} : { idempotency }),
      body: { schema: z.object({ layers: z.int().max(9), wait: z.boolean().optional() }), optional: false },
      answers: [{ status: 201, description: 'The cake.', schema: z.object({ baked: z.int(), recipe: z.string() }) }],
      handle: async ({ body }) => {
        if (body.wait) await released
        return { baked: ++baked, recipe: 'butter@home.example' }
      },
    }),
  ])
  const token = await api.token()
  const bake = (key: string, body: object = { layers: 3 }, { baker = 'ann', by = token } = {}) =>
    api.request('POST', `/api/cakes/${baker}`, { token: by, body, headers: { 'idempotency-key': key } })
  return { api, bake, release, baked: () => baked }
}

const rows = ({ db }: ApiServer) => db.read<{ operation: string; response: string }>('select operation, response from idempotency')

test('a POST is carried out once, and answered the same again', async () => {
  const { api, bake, baked } = await startBakery()
  const first = await bake('a')
  const again = await bake('a')
  expect(first).toMatchObject({ status: 201, body: { baked: 1 } })
  expect(first.headers.get('idempotency-replayed')).toBeNull()
  expect(again).toMatchObject({ status: 201, body: first.body })
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect(await bake('b')).toMatchObject({ status: 201, body: { baked: 2 } })
  expect(baked()).toBe(2)
  expect(await api.db.read('select operation from audit')).toHaveLength(2)
})

test('another body, another object or another query under the same key is refused', async () => {
  const { bake, baked } = await startBakery()
  await bake('a')
  const others: Parameters<typeof bake>[] = [
    ['a', { layers: 4 }],
    ['a', { layers: 3 }, { baker: 'bob' }],
    ['a', { layers: 3 }, { baker: 'ann?x=1' }],
  ]
  for (const other of others) {
    expect(await bake(...other)).toMatchObject({ status: 409, body: { name: 'invalid_idempotent_request' } })
  }
  expect(baked()).toBe(1)
})

test('while the first is under way, a second one is told to come back', async () => {
  const { bake, release, baked } = await startBakery()
  const first = bake('a', { layers: 3, wait: true })
  let second = await bake('a', { layers: 3, wait: true }).catch(() => null)
  while (second?.status !== 409) second = await bake('a', { layers: 3, wait: true })
  expect(second).toMatchObject({ body: { name: 'concurrent_idempotent_requests' } })
  expect(second.headers.get('retry-after')).toBe('1')
  release()
  expect(await first).toMatchObject({ status: 201 })
  expect(baked()).toBe(1)
})

test('a request that is refused may be repeated under its key', async () => {
  const { bake } = await startBakery()
  expect(await bake('a', { layers: 10 })).toMatchObject({ status: 422 })
  expect(await bake('a', { layers: 9 })).toMatchObject({ status: 201 })
  for (const key of ['', 'x'.repeat(257)]) expect(await bake(key)).toMatchObject({ status: 400, body: { name: 'invalid_idempotency_key' } })
})

test('a key is forgotten after 24 hours, and is of one account and of the sandbox or not', async () => {
  const { api, bake } = await startBakery()
  await bake('a')
  expect(await bake('a', { layers: 1 }, { by: await api.token({ account: 'other' }) })).toMatchObject({ body: { baked: 2 } })
  expect(await bake('a', { layers: 1 }, { by: await api.token({ sandbox: true }) })).toMatchObject({ body: { baked: 3 } })
  api.clock.advance(24 * hour - 1)
  expect(await bake('a')).toMatchObject({ body: { baked: 1 } })
  api.clock.advance(1)
  expect(await bake('a', { layers: 5 })).toMatchObject({ body: { baked: 4 } })
})

test('an answer with a secret is stored sealed, and given again only to whom it was given', async () => {
  const { api, bake } = await startBakery('secret')
  const first = await bake('a')
  expect(await bake('a')).toMatchObject({ status: 201, body: first.body })
  expect(await bake('a', { layers: 3 }, { by: await api.token() })).toMatchObject({
    status: 409,
    body: { name: 'invalid_idempotent_request' },
  })
  const [row, ...others] = await rows(api)
  expect(others).toEqual([])
  expect(row?.response).not.toContain('butter')
  expect(Buffer.from(String((JSON.parse(row!.response) as { sealed: string }).sealed), 'base64').includes('butter')).toBe(false)
})

test('nothing is stored of what changes nothing', async () => {
  const { api, bake } = await startBakery('none')
  expect([(await bake('a')).body.baked, (await bake('a')).body.baked]).toEqual([1, 2])
  expect(await rows(api)).toEqual([])
})

const operations = apiOperations({} as ApiServices)

test('every POST of the API takes a key, and the document says so', () => {
  const posting = { timeout: 0, retrySchedule: [] }
  const { paths } = openApiDocument(operations, { version: '1', baseUrl: 'https://mail.example.com', webhooks: posting })
  const without = Object.entries(paths)
    .filter(([path, { post }]) => path.startsWith('/api/') && post && !JSON.stringify(post.parameters ?? []).includes('Idempotency-Key'))
    .map(([path]) => path)
  expect(without).toEqual([])
  expect(operations.filter(({ idempotency, ...declared }) => idempotency && !takesIdempotencyKey(declared))).toEqual([])
})

test('what is kept under a key is JSON, and the body that it belongs to was parsed', () => {
  const kept = operations.filter((declared) => takesIdempotencyKey(declared) && !['own', 'none'].includes(declared.idempotency ?? ''))
  expect(kept.length).toBeGreaterThan(10)
  expect(kept.filter(({ answers, body }) => answers[0].schema === null || body?.as !== undefined)).toEqual([])
})

test('whatever shows a secret declares it', () => {
  const document: OpenApiDocument = openApiDocument(operations, {
    version: '1',
    baseUrl: 'https://mail.example.com',
    webhooks: { timeout: 0, retrySchedule: [] },
  })
  const text = (schema: unknown): string =>
    JSON.stringify(schema).replace(/"\$ref":"#\/components\/schemas\/(\w+)"/g, (_, name: string) =>
      text(document.components.schemas?.[name]),
    )
  const showing = operations.filter((declared) => {
    const { responses } = document.paths[declared.path]![declared.method.toLowerCase()] as { responses: Record<string, unknown> }
    const shown = text(responses[declared.answers[0].status])
    return takesIdempotencyKey(declared) && /"(?:token|signing_secret|secret|password|recovery_codes|invitation_url)":\{/.test(shown)
  })
  expect(showing.map(({ id }) => id).toSorted()).toEqual(
    operations
      .filter(({ idempotency }) => idempotency === 'secret')
      .map(({ id }) => id)
      .toSorted(),
  )
})
