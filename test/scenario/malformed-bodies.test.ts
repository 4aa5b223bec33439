import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiOperations } from '../../src/api/resource/operations.ts'
import type { ApiServices } from '../../src/api/resource/operation-services.ts'
import { standardBodyLimit } from '../../src/api/operation/body-limits.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

let relay: TestRelay
let token: string
let rowsBefore: unknown

beforeAll(async () => {
  relay = await startTestRelay({ plans: 'enterprise=10000000' })
  const { accounts, apiKeys } = relay.relay.services
  token = (await apiKeys.create({ accountId: accounts.findAccount('test')!.id, name: 'test', permission: 'operator' })).token
  rowsBefore = await rows()
})

afterAll(async () => {
  const rowsAfter = await rows()
  await relay.stop()
  expect(rowsAfter).toEqual(rowsBefore)
})

/** How many rows the tables have that something could have been made in. */
async function rows(): Promise<unknown> {
  const { db } = relay.relay.services
  return Promise.all([
    db.read('select count(*) as n from message'),
    db.read('select count(*) as n from webhook'),
    db.read('select count(*) as n from template'),
    db.read('select count(*) as n from suppression'),
    db.read('select count(*) as n from api_key'),
    db.read('select count(*) as n from account'),
  ])
}

const json = { 'content-type': 'application/json' }
const bodies: [string, Record<string, string>, string | Buffer, number, string][] = [
  ['another type', { 'content-type': 'text/plain' }, '{}', 415, 'unsupported_media_type'],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=b', 415, 'unsupported_media_type'],
  ['no type', { 'content-type': '' }, '{}', 415, 'unsupported_media_type'],
  ['another character set', { 'content-type': 'application/json; charset=utf-16' }, '{}', 415, 'unsupported_media_type'],
  ['a compressed body', { ...json, 'content-encoding': 'gzip' }, Buffer.from('1f8b0800', 'hex'), 415, 'unsupported_media_type'],
  ['half an object', json, '{"a":', 400, 'invalid_json'],
  ['two objects', json, '{}{}', 400, 'invalid_json'],
  ['a number that is none', json, '{"a":NaN}', 400, 'invalid_json'],
  ['a single quotation mark', json, "{'a':1}", 400, 'invalid_json'],
  ['bytes that are no UTF-8', json, Buffer.from('7b2261223a22ff227d', 'hex'), 400, 'invalid_json'],
  ['a text', json, '"a"', 400, 'invalid_json'],
  ['a number', json, '1', 400, 'invalid_json'],
  ['null', json, 'null', 400, 'invalid_json'],
  ['a hundred thousand brackets', json, '['.repeat(100_000), 400, 'invalid_json'],
  ['a hundred thousand brackets that close', json, `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400, 'invalid_json'],
  ['a hundred thousand values', json, `{"a":[${'"",'.repeat(100_000)}0]}`, 400, 'invalid_json'],
  ['more than the largest body', { ...json, 'content-length': String(36 * 1024 * 1024) }, '{', 413, 'payload_too_large'],
]

/** Node's own client sends what it is told; `fetch` would mend some of it. */
function send(
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string | Buffer,
): Promise<{ status: number; name: unknown }> {
  return new Promise((resolve, reject) => {
    const sent = request(relay.baseUrl + path, { method, headers: { ...headers, authorization: `Bearer ${token}` } }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => {
        sent.destroy()
        resolve({ status: response.statusCode ?? 0, name: (JSON.parse(text) as { name: unknown }).name })
      })
    })
    sent.on('error', reject)
    if ('content-length' in headers) sent.write(body)
    else sent.end(body)
  })
}

const endpoints = apiOperations({} as ApiServices).filter(
  ({ path, body }) => path.startsWith('/api/') && body && (body.mediaType ?? 'application/json') === 'application/json',
)

describe.each(endpoints)('$method $path', ({ method, path, body: declared }) => {
  test.each(bodies)('refuses %s', async (_, headers, body, status, name) => {
    const isTooLarge = body.length > (declared?.limit ?? standardBodyLimit)
    const refused = isTooLarge ? { status: 413, name: 'payload_too_large' } : { status, name }
    expect(await send(method, path.replace(/\{\w+\}/g, 'em_00000000000000000000000000'), headers, body)).toEqual(refused)
  })
})
