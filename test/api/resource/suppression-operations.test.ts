import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { suppressionOperations } from '../../../src/api/resource/suppression-operations.ts'
import { exportShapes } from '../../../src/mail/suppression/export-shape.ts'
import { importSuppressions } from '../../../src/mail/suppression/import-suppressions.ts'
import { insertSuppression } from '../../../src/mail/suppression/insert-suppression.ts'
import { SuppressionEntries } from '../../../src/mail/suppression/suppression-entries.ts'
import { findSuppressed } from '../../../src/mail/suppression/suppression-list.ts'
import { startApiServer } from '../../support/api-server.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

async function startApi() {
  const api = await startApiServer((services) => suppressionOperations({ suppressions: new SuppressionEntries(services) }))
  const token = await api.token()
  const { id: accountId } = api.accounts.getAccount('acme')
  const call = (method: string, path: string, body?: unknown, key = token) =>
    api.request(method, `/api/suppressions${path}`, { token: key, ...(body === undefined ? {} : { body }) })
  const emails = async (query = '', key = token) =>
    ((await call('GET', query, undefined, key)).body.data as { email: string }[]).map(({ email }) => email)
  return { ...api, call, emails, scope: { accountId, sandbox: false } }
}

test('an address is added, read by id and by address however it is written, and removed', async () => {
  const { call, emails } = await startApi()
  const made = await call('POST', '', { email: 'Ann@Example.COM', reason: 'asked by phone' })
  expect(made).toMatchObject({ status: 201, body: { object: 'suppression', id: expect.stringMatching(/^sup_[0-9a-z]{26}$/) } })
  const id = String(made.body.id)
  const entry = {
    object: 'suppression',
    id,
    email: 'ann@example.com',
    origin: 'manual',
    topic: null,
    source_id: null,
    reason: 'asked by phone',
    created_at: '2026-11-21T06:00:00.000Z',
    expires_at: null,
  }
  for (const name of [id, 'ann@example.com', 'ANN%40example.com'])
    expect(await call('GET', `/${name}`)).toMatchObject({ status: 200, body: entry })
  expect((await call('GET', '')).body).toEqual({ object: 'list', has_more: false, data: [entry] })
  expect((await call('POST', '', { email: 'ANN@example.com' })).body.id).toBe(id)
  expect(await call('DELETE', '/ann%40EXAMPLE.com')).toMatchObject({ status: 200, body: { object: 'suppression', id, deleted: true } })
  expect(await emails()).toEqual([])
  for (const method of ['GET', 'DELETE']) expect(await call(method, `/${id}`)).toMatchObject({ status: 404, body: { name: 'not_found' } })
})

test('many are added and removed at once, by address or by id', async () => {
  const { call, emails } = await startApi()
  const many = Array.from({ length: 1000 }, (_, i) => `u${i}@example.com`)
  const { status, body } = await call('POST', '/batch/add', { emails: many })
  const added = body.data as { id: string }[]
  expect([status, added.length]).toEqual([201, 1000])
  expect(await emails('?limit=2')).toEqual(['u999@example.com', 'u998@example.com'])
  expect((await call('POST', '', { emails: ['u5@example.com', 'new@example.com'] })).body.data).toMatchObject([added[5], {}])
  const byId = await call('POST', '/batch/remove', { ids: [added[0]?.id, `sup_${'0'.repeat(26)}`, 'u2@example.com'] })
  expect(byId.body).toEqual({ data: [{ object: 'suppression', id: added[0]?.id, deleted: true }] })
  const byAddress = await call('POST', '/batch/remove', {
    emails: ['new@example.com', ...many.slice(1).map((address) => address.toUpperCase())],
  })
  expect(byAddress.body.data).toHaveLength(1000)
  expect(await emails()).toEqual([])
})

test('an address that is there for several reasons is one to whoever names it', async () => {
  const { call, emails, db, scope } = await startApi()
  await db.write([
    insertSuppression(scope, { address: 'Ann@example.com', origin: 'bounce', sourceId: 'em_1', reason: '550 gone', createdAt: 1000 }),
    insertSuppression(scope, { address: 'ann@example.com', origin: 'unsubscribe', sourceId: null, reason: null, createdAt: 2000 }),
  ])
  expect((await call('GET', '/ann@example.com')).body).toMatchObject({ origin: 'bounce', source_id: 'em_1', reason: '550 gone' })
  expect(await emails('?origin=unsubscribe')).toEqual(['ann@example.com'])
  expect(await emails('?origin=complaint')).toEqual([])
  await call('DELETE', '/ann@example.com')
  expect(await emails()).toEqual([])
})

test('the sandbox and every account have lists of their own', async () => {
  const { call, emails, token } = await startApi()
  const others = [await token({ sandbox: true }), await token({ account: 'other' })]
  const { id } = (await call('POST', '', { email: 'ann@example.com' })).body
  for (const key of others) {
    expect(await emails('', key)).toEqual([])
    for (const name of [id, 'ann@example.com']) {
      expect((await call('GET', `/${name}`, undefined, key)).status).toBe(404)
      expect((await call('DELETE', `/${name}`, undefined, key)).status).toBe(404)
    }
    await call('POST', '/batch/remove', { emails: ['ann@example.com'] }, key)
    await call('POST', '/batch/remove', { ids: [id] }, key)
  }
  expect(await emails()).toEqual(['ann@example.com'])
})

test.each([
  ['', {}, 'email'],
  ['', { email: 'ann@example.com', emails: ['bob@example.com'] }, 'email'],
  ['', { email: 'Ann, Lee <ann@example.com>' }, 'email'],
  ['', { email: 'ann@localhost..' }, 'email'],
  ['', { email: 7 }, 'email'],
  ['', { email: 'ann@example.com', reason: 'x'.repeat(1001) }, 'reason'],
  ['', { emails: [] }, 'emails'],
  ['/batch/add', { emails: ['ann@example.com', 'ann'] }, 'emails.1'],
  ['/batch/add', { emails: Array.from({ length: 1001 }, () => 'ann@example.com') }, 'emails'],
  ['/batch/remove', {}, 'emails'],
  ['/batch/remove', { ids: ['x'], emails: ['ann@example.com'] }, 'emails'],
])('%s %j is refused and changes nothing', async (path, body, field) => {
  const { call, emails } = await startApi()
  const answer = await call('POST', path, body)
  expect(answer.status).toBe(422)
  expect(answer.body.errors?.[0]?.field).toBe(field)
  expect(await emails()).toEqual([])
})

test('addresses are found by their beginning, and all are downloaded as CSV', async () => {
  const { call, emails, db, scope, url, token } = await startApi()
  await call('POST', '', { emails: ['ann@example.com', 'Anna@example.com', 'an%d@example.com', 'bob@example.com'], reason: '=1+1, asked' })
  await db.write([
    insertSuppression(scope, { address: 'zoe@example.com', origin: 'bounce', sourceId: 'em_1', reason: null, createdAt: 1000 }),
    ...Array.from({ length: 1100 }, (_, i) =>
      insertSuppression(scope, { address: `many${i}@example.com`, origin: 'complaint', sourceId: null, reason: null, createdAt: 2000 }),
    ),
  ])
  expect((await emails('?email=AN')).toSorted()).toEqual(['an%d@example.com', 'ann@example.com', 'anna@example.com'])
  expect((await emails('?email=ann@example.com')).toSorted()).toEqual(['ann@example.com'])
  expect(await emails('?email=an%25')).toEqual(['an%d@example.com'])
  expect(await emails('?email=example')).toEqual([])
  expect(await emails('?email=zo&origin=complaint')).toEqual([])
  const download = async (query: string) => {
    const response = await fetch(`${url}/api/suppressions.csv${query}`, { headers: { authorization: `Bearer ${await token()}` } })
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="suppressions.csv"')
    return (await response.text()).split('\r\n')
  }
  const all = await download('')
  expect(all).toHaveLength(1 + 1105 + 1)
  expect(all[0]).toBe('email,origin,topic,reason,source_id,created_at,expires_at')
  const found = await download('?email=ann@')
  expect(found).toEqual([all[0], `ann@example.com,manual,,"=1+1, asked",,2026-11-21T06:00:00.000Z,`, ''])
  expect((await download('?email=ann@&spreadsheet=true'))[1]).toBe(`ann@example.com,manual,,"'=1+1, asked",,2026-11-21T06:00:00.000Z,`)
})

test('what is exported is imported again byte for byte, whatever an address begins with', async () => {
  const { call, db, scope, url, token, accounts, clock, erasedAddress } = await startApi()
  const emails = ['=1+1@example.com', '+ann@example.com', '-bob@example.com', "'cyd@example.com", "'=dan@example.com", 'eve@example.com']
  expect((await call('POST', '', { emails, reason: '=HYPERLINK(1), \'so\' "it" is' })).status).toBe(201)
  const at = { sourceId: null, reason: null, createdAt: 1_700_000_000_123 }
  await db.write([
    insertSuppression(scope, { ...at, address: '@whole.example', origin: 'manual' }),
    insertSuppression(scope, { ...at, address: '-x@example.com', origin: 'unsubscribe', topic: 'news' }),
    insertSuppression(scope, { ...at, address: '+y@example.com', origin: 'bounce', expiresAt: 4_000_000_000_000 }),
  ])
  const download = async (key: string): Promise<string> =>
    (await fetch(`${url}/api/suppressions.csv`, { headers: { authorization: `Bearer ${key}` } })).text()
  const exported = await download(await token())
  for (const email of emails) expect(exported).toMatch(email.startsWith("'") ? `\n"${email}",manual` : `\n${email},manual`)
  const file = join(testDirectory(), 'export')
  writeFileSync(file, exported)
  const otherKey = await token({ account: 'other' })
  const other = { accountId: accounts.getAccount('other').id, sandbox: false }
  const result = await importSuppressions(
    { db, clock, erasedAddress },
    { scope: other, file, shape: exportShapes.sterna, origin: null, topic: '' },
  )
  expect(result).toMatchObject({ imported: 9, refused: 0 })
  const sorted = (text: string): string[] => text.split('\r\n').toSorted()
  expect(sorted(await download(otherKey))).toEqual(sorted(exported))
})

test('an address is understood as somebody pasted it', async () => {
  const { call, emails } = await startApi()
  expect((await call('POST', '', { emails: [' Ann@example.com\n', '"Lee, Bob" <bob@example.com>'] })).status).toBe(201)
  expect((await emails()).toSorted()).toEqual(['ann@example.com', 'bob@example.com'])
  expect(await emails(`?email=${encodeURIComponent(' Ann Lee <ANN@example.com> ')}`)).toEqual(['ann@example.com'])
  expect(await emails('?email=%20bo')).toEqual(['bob@example.com'])
  expect((await call('GET', `/${encodeURIComponent('Bob <bob@example.com>')}`)).status).toBe(200)
  const refused = await call('POST', '', { email: 'Lee, Bob <bob@example.com>' })
  expect(refused.body.errors?.[0]).toMatchObject({ help: expect.stringContaining('There is no address in "Lee"') })
  expect((await call('POST', '/batch/remove', { emails: ['Bob <BOB@example.com> '] })).status).toBe(200)
  expect(await emails()).toEqual(['ann@example.com'])
})

test('a whole domain is suppressed, found, exported, imported and removed, and other domains are not', async () => {
  const { call, emails, db, clock, scope } = await startApi()
  const added = await call('POST', '', { email: ' @Example.COM ', reason: 'a competitor' })
  expect(added.status).toBe(201)
  expect((await call('GET', '/@EXAMPLE.com')).body).toMatchObject({ id: added.body.id, email: '@example.com', origin: 'manual' })
  expect(await emails('?email=@exam')).toEqual(['@example.com'])
  for (const email of ['@', '@exa mple', 'ann@@example.com', '@ann@example.com'])
    expect(await call('POST', '', { email })).toMatchObject({ status: 422, body: { name: 'validation_error' } })
  const query = { ...scope, erasedAddress: (address: string) => address, now: 0 }
  const isSuppressed = await findSuppressed(db, query, ['ann@EXAMPLE.com', 'bob@mail.example.com', 'bob@other.example'])
  expect(['ann@EXAMPLE.com', 'bob@mail.example.com', 'bob@other.example'].map((address) => isSuppressed(address, null))).toEqual([
    true,
    false,
    false,
  ])
  const ofOthers = await new SuppressionEntries({ db, clock, erasedAddress: query.erasedAddress }, { addressesOnly: true }).page(
    scope,
    {},
    { limit: 10, after: null, before: null },
  )
  expect(ofOthers).toEqual([])
  expect((await call('DELETE', '/%40example.com')).status).toBe(200)
  expect(await emails()).toEqual([])
})
