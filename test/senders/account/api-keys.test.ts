import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { Accounts } from '../../../src/senders/account/accounts.ts'
import { digestOf, newToken } from '../../../src/senders/account/api-key-token.ts'
import { ApiKeys } from '../../../src/senders/account/api-keys.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import type { Database } from '../../../src/platform/store/database.ts'
import { openDatabase } from '../../../src/platform/store/sqlite/sqlite-database.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDirectory } from '../../support/temporary-directory.ts'
import { testDatabase } from '../../support/test-database.ts'

const clock = settableClock()
let db: Database
let accounts: Accounts
let apiKeys: ApiKeys

const load = async (): Promise<void> => {
  accounts = new Accounts({ db, clock, changes: aloneWithChanges })
  apiKeys = new ApiKeys({ db, clock, changes: aloneWithChanges, accounts })
  await accounts.load()
  await apiKeys.load()
}

beforeEach(async () => {
  db = await testDatabase()
  await load()
})

test('an account is found by name and by id, also after a restart', async () => {
  const created = await accounts.create('shop', 'starter')
  await accounts.change('shop', { plan: 'enterprise' })
  await accounts.change(created.id, { status: 'suspended' })
  await load()
  expect(accounts.findAccount('shop')).toEqual({ ...created, plan: 'enterprise', status: 'suspended' })
  expect(accounts.accountFor(created.id)).toEqual(accounts.getAccount('shop'))
  expect(accounts.list()).toHaveLength(1)
  expect(() => accounts.getAccount('other')).toThrow(expect.objectContaining({ code: 'not_found' }))
})

test('two accounts never share a name, and a name never looks like an id', async () => {
  const { id } = await accounts.create('shop', 'free')
  await expect(accounts.create('shop', 'free')).rejects.toMatchObject({ code: 'account_exists' })
  for (const name of ['', ' shop', 'a\nb', 'x'.repeat(101), id]) {
    await expect(accounts.create(name, 'free')).rejects.toMatchObject({ code: 'validation_error' })
  }
})

test('a key tells whom it belongs to and what it may do, also after a restart', async () => {
  const { id: accountId } = await accounts.create('shop', 'free')
  const live = await apiKeys.create({ accountId, name: 'app', permission: 'full_access' })
  clock.advance(1)
  const sandbox = await apiKeys.create({ accountId: 'shop', name: '', permission: 'sending_access', domainId: 'dom_1', sandbox: true })
  await load()
  expect(apiKeys.authenticate(live.token)).toEqual({
    id: live.id,
    name: 'app',
    accountId,
    permission: 'full_access',
    domainId: null,
    sandbox: false,
    confined: false,
    accountStatus: 'active',
    tokenDigest: digestOf(live.token),
  })
  expect(apiKeys.current({ tokenDigest: digestOf(sandbox.token) })).toMatchObject({
    accountId,
    permission: 'sending_access',
    domainId: 'dom_1',
    sandbox: true,
    confined: true,
  })
  expect(apiKeys.list(accountId).map(({ id }) => id)).toEqual([live.id, sandbox.id])
})

test('unknown, mistyped and revoked keys are invalid; expired ones are told apart', async () => {
  const { id: accountId } = await accounts.create('shop', 'free')
  const key = await apiKeys.create({ accountId, name: 'app', permission: 'full_access', expiresAt: clock.now() + 1000 })
  expect(apiKeys.authenticate(newToken(false))).toEqual({ refused: 'invalid' })
  expect(apiKeys.authenticate(`${key.token.slice(0, -1)}-`)).toEqual({ refused: 'invalid' })
  expect(apiKeys.authenticate(key.token)).toMatchObject({ id: key.id })
  clock.advance(1000)
  expect(apiKeys.authenticate(key.token)).toEqual({ refused: 'expired' })
  expect(apiKeys.current({ tokenDigest: digestOf(key.token) })).toEqual({ refused: 'expired' })
  await apiKeys.revoke(key.id)
  expect(apiKeys.authenticate(key.token)).toEqual({ refused: 'invalid' })
  expect(apiKeys.current({ tokenDigest: digestOf(key.token) })).toEqual({ refused: 'invalid' })
  await expect(apiKeys.revoke(key.id)).rejects.toMatchObject({ code: 'not_found' })
  await load()
  expect(apiKeys.authenticate(key.token)).toEqual({ refused: 'invalid' })
  expect(apiKeys.list(accountId)).toEqual([])
})

test('a suspended account shows in its keys at once', async () => {
  const { id: accountId } = await accounts.create('shop', 'free')
  const { token } = await apiKeys.create({ accountId, name: 'app', permission: 'full_access' })
  await accounts.change('shop', { status: 'suspended' })
  expect(apiKeys.authenticate(token)).toMatchObject({ accountStatus: 'suspended' })
})

test('only a key that sends can be limited to a domain', async () => {
  const { id: accountId } = await accounts.create('shop', 'free')
  const wanted = { accountId, name: 'app', permission: 'full_access', domainId: 'dom_1' } as const
  await expect(apiKeys.create(wanted)).rejects.toMatchObject({ code: 'validation_error' })
  await expect(apiKeys.create({ ...wanted, domainId: null, accountId: 'nobody' })).rejects.toMatchObject({ code: 'not_found' })
})

test('the last use is written once a minute at most', async () => {
  const { id: accountId } = await accounts.create('shop', 'free')
  const { id, token } = await apiKeys.create({ accountId, name: 'app', permission: 'full_access' })
  const written = async () => (await db.read('select last_used_at from api_key where id = :id', { id }))[0]?.['last_used_at']
  const first = clock.now()
  apiKeys.authenticate(token)
  await apiKeys.flush()
  expect(await written()).toBe(first)
  clock.advance(59_000)
  apiKeys.authenticate(token)
  await apiKeys.flush()
  expect(await written()).toBe(first)
  clock.advance(1000)
  apiKeys.authenticate(token)
  await apiKeys.flush()
  expect(await written()).toBe(first + 60_000)
})

test('no file of the data directory holds a token', async () => {
  const directory = testDirectory()
  ;({ db } = await openDatabase({ directory }))
  onTestFinished(() => db.close())
  await load()
  const { id: accountId } = await accounts.create('shop', 'free')
  const { token } = await apiKeys.create({ accountId, name: 'app', permission: 'full_access' })
  for (const file of readdirSync(directory)) {
    expect(readFileSync(join(directory, file)).includes(token.slice(18))).toBe(false)
  }
})
