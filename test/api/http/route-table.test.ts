import { expect, test } from 'vitest'
import { RouteTable } from '../../../src/api/http/route-table.ts'

const table = new RouteTable<string>()
for (const [method, path] of [
  ['GET', '/api/emails'],
  ['POST', '/api/emails'],
  ['GET', '/api/emails/{id}'],
  ['PATCH', '/api/emails/{id}'],
  ['GET', '/api/emails/metrics'],
  ['POST', '/api/emails/batch'],
  ['GET', '/api/emails/{id}/events/{event_id}'],
] as const)
  table.add(method, path, `${method} ${path}`)

test.each<[method: string, path: string, found: string | null, params?: Record<string, string>]>([
  ['GET', '/api/emails', 'GET /api/emails'],
  ['POST', '/api/emails/', 'POST /api/emails'],
  ['HEAD', '/api/emails', 'GET /api/emails'],
  ['GET', '/api/emails/em_1', 'GET /api/emails/{id}', { id: 'em_1' }],
  ['HEAD', '/api/emails/em_1/', 'GET /api/emails/{id}', { id: 'em_1' }],
  ['GET', '/api/emails/a%2Fb%40c', 'GET /api/emails/{id}', { id: 'a/b@c' }],
  ['GET', '/api/emails/%ff%', 'GET /api/emails/{id}', { id: '%ff%' }],
  ['GET', '/api/emails/__proto__', 'GET /api/emails/{id}', { id: '__proto__' }],
  ['GET', '/api/emails/em_1/events/evt_2', 'GET /api/emails/{id}/events/{event_id}', { id: 'em_1', event_id: 'evt_2' }],
  // A path of its own comes before a parameter, but only for its own methods.
  ['GET', '/api/emails/metrics', 'GET /api/emails/metrics'],
  ['POST', '/api/emails/batch', 'POST /api/emails/batch'],
  ['GET', '/api/emails/batch', 'GET /api/emails/{id}', { id: 'batch' }],
  ['DELETE', '/api/emails/em_1', null],
  ['OPTIONS', '/api/emails', null],
  ['GET', '/API/emails', null],
  ['GET', '/api/emails/em_1/events', null],
  ['GET', '/api/emails/em_1/events//', null],
  ['GET', '/api/emails//events/evt_2', null],
  ['GET', '/api', null],
  ['GET', '/', null],
  ['GET', '', null],
])('%s %s', (method, path, handler, params = {}) => {
  expect(table.find(method, path)).toEqual(handler === null ? null : { handler, params })
})

test('says for which methods there is a path', () => {
  expect(table.methodsAt('/api/emails/batch')).toEqual(['GET', 'HEAD', 'PATCH', 'POST'])
  expect(table.methodsAt('/api/emails/')).toEqual(['GET', 'HEAD', 'POST'])
  expect(table.methodsAt('/api/nothing')).toEqual([])
})
