import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Caller } from '../../../src/api/operation/caller.ts'
import { localCall } from '../../../src/api/operation/operation-client.ts'
import { operation } from '../../../src/api/operation/operation.ts'
import { perform } from '../../../src/api/operation/perform.ts'
import { RawAnswer } from '../../../src/api/operation/raw-answer.ts'
import { timeParameter } from '../../../src/api/operation/query.ts'
import { formatParameter } from '../../../src/api/operation/csv.ts'
import { managedObject } from '../../../src/platform/managed-object.ts'
import { rightsOfKey, type Permission } from '../../../src/senders/account/permission.ts'
import { testCore } from '../../support/test-core.ts'

const cake = z.object({ id: z.string(), layers: z.int() })
let baked = 0

const createCake = operation({
  id: 'cakes.create',
  method: 'POST',
  path: '/api/cakes/{baker}',
  tag: 'Cakes',
  summary: 'Bake a cake',
  permission: 'full_access',
  body: { schema: z.object({ layers: z.int().min(1).default(2) }), optional: true },
  answers: [{ status: 201, description: 'The cake.', schema: cake }],
  handle: ({ params, body, reply }) => {
    reply.set('X-Baker', params.baker)
    return { id: `cake_${++baked}`, layers: body.layers }
  },
})

const listCakes = operation({
  id: 'cakes.list',
  method: 'GET',
  path: '/api/cakes',
  tag: 'Cakes',
  summary: 'List cakes',
  permission: 'read_access',
  query: { since: timeParameter, format: formatParameter },
  answers: [{ status: 200, description: 'Cakes.', schema: z.object({ since: z.number().nullable() }) }],
  csv: ({ since }: { since: number | null }) => ({ name: 'cakes', columns: ['since'], rows: [{ since }] }),
  handle: ({ query }) => ({ since: query.since }),
})

async function start() {
  const core = await testCore()
  const { id: accountId } = await core.accounts.create('acme', 'free')
  const caller = (permission: Permission, { confined = false } = {}): Caller => ({
    accountId,
    domainId: null,
    sandbox: confined,
    confined,
    rights: rightsOfKey(permission),
    actor: { type: 'command', id: null, name: 'cake bake' },
    address: null,
    requestId: null,
  })
  return { core, caller }
}

test('a client in this process gets the answer, with defaults, and the change is recorded', async () => {
  const { core, caller } = await start()
  const reply = new Headers()
  const call = localCall(caller('full_access'), { params: { baker: 'ann' }, reply })
  expect(await perform(createCake, call, core)).toMatchObject({ layers: 2 })
  expect(reply.get('x-baker')).toBe('ann')
  expect(await core.db.read('select operation, actor_type, fields from audit')).toEqual([
    { operation: 'cakes.create', actor_type: 'command', fields: '' },
  ])
})

test('it is refused what it may not do, and what is not valid, and nothing is recorded', async () => {
  const { core, caller } = await start()
  const bake = (by: Caller, body: unknown) => perform(createCake, localCall(by, { params: { baker: 'ann' }, body }), core)
  await expect(bake(caller('read_access'), {})).rejects.toMatchObject({ code: 'restricted_api_key' })
  await expect(bake(caller('full_access', { confined: true }), {})).rejects.toMatchObject({ code: 'restricted_api_key' })
  await expect(bake(caller('full_access'), { layers: 0 })).rejects.toMatchObject({
    code: 'validation_error',
    faults: [{ field: 'layers', code: 'too_small' }],
  })
  await expect(perform(listCakes, localCall(caller('read_access'), { query: { since: 'soon' } }), core)).rejects.toMatchObject({
    code: 'invalid_parameter',
  })
  expect(await core.db.read('select operation from audit')).toEqual([])
})

test('what it sends twice under one key is carried out once', async () => {
  const { core, caller } = await start()
  const reply = new Headers()
  const bake = () =>
    perform(createCake, localCall(caller('full_access'), { params: { baker: 'ann' }, headers: { 'idempotency-key': 'a' }, reply }), core)
  const first = await bake()
  expect(await bake()).toEqual(first)
  expect(reply.get('idempotency-replayed')).toBe('true')
})

test('it can have a table in place of the list', async () => {
  const { core, caller } = await start()
  const list = (query: Record<string, string>) => perform(listCakes, localCall(caller('read_access'), { query }), core)
  expect(await list({ since: '1970-01-01' })).toEqual({ since: 0 })
  const table = await list({ since: '1970-01-01', format: 'csv' })
  expect(table).toBeInstanceOf(RawAnswer)
  expect(table).toMatchObject({ filename: 'cakes.csv', body: 'since\r\n0\r\n' })
})

test('the record names what was given: not what the schema does not know, nor null where it stands for nothing', async () => {
  const { core, caller } = await start()
  const rename = operation({
    ...createCake,
    id: 'cakes.update',
    method: 'PATCH',
    body: {
      schema: z
        .object(managedObject({ iced: { type: z.boolean(), doc: 'Iced.', initial: false } }).request)
        .extend({ name: z.string().nullish() }),
    },
    handle: () => ({ id: 'cake' }),
  } as never)
  const body = { iced: null, name: null, colour: 'red' }
  await perform(rename, localCall(caller('full_access'), { body }), core)
  expect(await core.db.read('select fields from audit')).toEqual([{ fields: 'name' }])
})
