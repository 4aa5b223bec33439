import { expect, test } from 'vitest'
import { z } from 'zod'
import { operation } from '../../../src/api/operation/operation.ts'
import { listOf, pageOf, pageParameters } from '../../../src/api/operation/page.ts'
import { timeParameter } from '../../../src/api/operation/query.ts'
import { startApiServer } from '../../support/api-server.ts'

const cake = z.object({ id: z.string(), layers: z.int() })

const createCake = operation({
  id: 'cakes.create',
  method: 'POST',
  path: '/api/cakes',
  aliases: [{ id: 'cakes.bake', path: '/api/cakes/bake' }],
  tag: 'Cakes',
  summary: 'Bake a cake',
  permission: 'full_access',
  body: { schema: z.object({ layers: z.int().min(1).default(2) }), optional: true },
  answers: [{ status: 201, description: 'The cake.', schema: cake }],
  handle: ({ body }) => ({ id: 'cake_1', layers: body.layers }),
})

const listCakes = operation({
  id: 'cakes.list',
  method: 'GET',
  path: '/api/cakes/of/{baker}',
  tag: 'Cakes',
  summary: 'List cakes',
  permission: 'read_access',
  query: { ...pageParameters, since: timeParameter },
  answers: [{ status: 200, description: 'A page.', schema: listOf(cake) }],
  handle: ({ params, query }) => ({
    object: 'list' as const,
    has_more: false,
    data: [{ id: `${params.baker} since ${query.since}`, layers: pageOf(query).limit }],
  }),
})

const start = () => startApiServer(() => [createCake, listCakes])

test('an endpoint takes and answers what it declares, at its other paths too', async () => {
  const api = await start()
  const token = await api.token()
  expect(await api.request('POST', '/api/cakes', { token, body: { layers: 3 } })).toMatchObject({
    status: 201,
    body: { id: 'cake_1', layers: 3 },
  })
  expect(await api.request('POST', '/api/cakes/bake', { token })).toMatchObject({ status: 201, body: { layers: 2 } })
  expect(await api.request('POST', '/api/cakes', { token, body: { layers: 0 } })).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'layers' }] },
  })
  expect(await api.request('GET', '/api/cakes/of/ann?limit=7&since=2026-11-21', { token })).toMatchObject({
    status: 200,
    body: { data: [{ id: `ann since ${Date.UTC(2026, 10, 21)}`, layers: 7 }] },
  })
})

test.each([
  'limit=0',
  'limit=101',
  'limit=x',
  'since=soon',
  'limit=1&limit=2',
  'after=x',
  `after=em_${'0'.repeat(26)}&before=em_${'1'.repeat(26)}`,
])('the query %s is refused', async (query) => {
  const api = await start()
  const answer = await api.request('GET', `/api/cakes/of/ann?${query}`, { token: await api.token() })
  expect(answer).toMatchObject({ status: 422, body: { name: 'invalid_parameter' } })
})

test('an endpoint demands its permission', async () => {
  const api = await start()
  const token = await api.token({ permission: 'read_access' })
  expect(await api.request('POST', '/api/cakes', { token })).toMatchObject({ status: 403, body: { name: 'restricted_api_key' } })
  expect(await api.request('GET', '/api/cakes/of/ann', { token })).toMatchObject({ status: 200 })
})
