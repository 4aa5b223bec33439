import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { beforeEach, expect, test } from 'vitest'
import { fingerprintOf, openKeyFile } from '../../../src/senders/account/key-file.ts'
import { openCore, type Core } from '../../../src/api/core.ts'
import { loadConfig } from '../../../src/platform/config/load-config.ts'
import type { Config } from '../../../src/platform/config/settings.ts'
import { examineKeyFile } from '../../../src/upkeep/doctor/examine-key-file.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { databaseFile } from '../../../src/platform/store/sqlite/data-directory.ts'
import { cutOffBefore } from '../../support/cut-off.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

let config: Config
beforeEach(() => {
  config = loadConfig({
    env: { STERNA_DATA_DIR: join(testDirectory(), 'data'), STERNA_HOSTNAME: 'mail.example.net', STERNA_DNS_SERVERS: '127.0.0.1:1' },
  })
})

async function started<T>(use: (core: Core) => Promise<T> | T): Promise<T> {
  const core = await openCore(config, { clock: settableClock(), log: silentLog, onFatal() {} })
  try {
    return await use(core)
  } finally {
    await core.close()
  }
}

const addDomain = (name: string) =>
  started(async ({ accounts, sendingDomains }) => {
    const account = accounts.list().find(({ name }) => name === 'shop') ?? (await accounts.create('shop', 'free'))
    await sendingDomains.add(account.id, name)
  })

/** As an earlier version left the database. */
function forgetFingerprint(): void {
  const connection = new Sqlite(databaseFile(config.dataDir))
  connection.exec('delete from secret_key')
  connection.close()
}

const fingerprint = () =>
  started(async ({ db }) => (await db.read<{ fingerprint: string }>('select fingerprint from secret_key'))[0]?.fingerprint ?? null)
const examined = () => started(async ({ db }) => (await examineKeyFile(config.secretKeyFile, db))[0])
const anotherKey = (): void => {
  rmSync(config.secretKeyFile)
  openKeyFile(config.secretKeyFile)
}
const names = () => readdirSync(config.dataDir).toSorted()
const remedy = /Put the file back at .*secret\.key, or set secret_key_file .* To start over .*, move everything out of /

test('the first start makes a key file, and the database knows it from then on', async () => {
  const known = await fingerprint()
  const key = readFileSync(config.secretKeyFile, 'latin1')
  expect(known).toBe(fingerprintOf(openKeyFile(config.secretKeyFile)))
  expect(known).toMatch(/^[0-9a-f]{64}$/)
  expect(key).not.toContain(known)
  expect(await fingerprint()).toBe(known)
  expect(await examined()).toMatchObject({ status: 'ok', what: expect.stringContaining('opens all 0 stored secrets') })
})

test('a key file that was provided is taken', async () => {
  config = { ...config, secretKeyFile: join(testDirectory(), 'provided.key') }
  writeFileSync(config.secretKeyFile, `${Buffer.alloc(32, 9).toString('base64')}\n`, { mode: 0o600 })
  await addDomain('a.example')
  expect(await fingerprint()).toBe(fingerprintOf(openKeyFile(config.secretKeyFile)))
})

test.each([
  ['which has never held a secret', false],
  ['with secrets', true],
])('without its key file a database %s is not started, and no key is made', async (_, hasSecrets) => {
  await (hasSecrets ? addDomain('a.example') : fingerprint())
  rmSync(config.secretKeyFile)
  for (let times = 0; times < 2; times++) await expect(fingerprint()).rejects.toThrow(/secret\.key is missing\./)
  await expect(fingerprint()).rejects.toThrow(remedy)
  expect(existsSync(config.secretKeyFile)).toBe(false)
})

test('with another key file it is not started either, and with its own it is', async () => {
  await addDomain('a.example')
  renameSync(config.secretKeyFile, `${config.secretKeyFile}.kept`)
  openKeyFile(config.secretKeyFile)
  const before = names()
  await expect(fingerprint()).rejects.toThrow(/is not the one that this database was created with/)
  await expect(fingerprint()).rejects.toThrow(remedy)
  expect(names()).toEqual(before)
  renameSync(`${config.secretKeyFile}.kept`, config.secretKeyFile)
  expect(await examined()).toMatchObject({ status: 'ok', what: expect.stringContaining('opens all 2 stored secrets') })
})

test('a database of an earlier version learns its key at the first start at which all secrets open', async () => {
  await addDomain('a.example')
  const known = await fingerprint()
  forgetFingerprint()
  renameSync(config.secretKeyFile, `${config.secretKeyFile}.kept`)
  await expect(fingerprint()).rejects.toThrow(/secret\.key is missing\./)
  expect(existsSync(config.secretKeyFile)).toBe(false)
  openKeyFile(config.secretKeyFile)
  await expect(fingerprint()).rejects.toThrow(/is not the one/)
  renameSync(`${config.secretKeyFile}.kept`, config.secretKeyFile)
  expect(await fingerprint()).toBe(known)
})

test('one whose key was replaced by an earlier version starts, and says that some secrets do not open', async () => {
  await addDomain('old.example')
  forgetFingerprint()
  renameSync(config.secretKeyFile, `${config.secretKeyFile}.kept`)
  const connection = new Sqlite(databaseFile(config.dataDir))
  connection.exec('create table apart as select * from dkim_key; delete from dkim_key')
  await addDomain('new.example')
  forgetFingerprint()
  connection.exec('insert into dkim_key select * from apart; drop table apart')
  connection.close()
  expect(await started(({ health }) => health.faults.map(({ name }) => name))).toEqual(['sealed_secrets'])
  expect(await fingerprint()).toBeNull()
  expect(await examined()).toMatchObject({ status: 'failed', what: expect.stringContaining('does not open 2 of 4 stored secrets') })
})

test('the doctor looks at the key file as it is, not at the one that was read', async () => {
  await addDomain('a.example')
  await started(async ({ db }) => {
    anotherKey()
    const [changed] = await examineKeyFile(config.secretKeyFile, db)
    expect(changed).toMatchObject({ status: 'failed', what: expect.stringContaining('is not the key file') })
    rmSync(config.secretKeyFile)
    const [missing] = await examineKeyFile(config.secretKeyFile, db)
    expect(missing).toMatchObject({ status: 'failed', what: expect.stringContaining('ENOENT') })
  })
})

test('a first start that is cut off at any step is still a first start', async () => {
  const { dataDir } = config
  for (let count = 1, isCutOff = true; isCutOff; count++) {
    config = { ...config, dataDir: `${dataDir}-${count}`, secretKeyFile: join(`${dataDir}-${count}`, 'secret.key') }
    isCutOff = (await cutOffBefore(count, fingerprint)) >= count
    expect(await fingerprint()).toBe(fingerprintOf(openKeyFile(config.secretKeyFile)))
    expect(readFileSync(config.secretKeyFile, 'latin1')).toMatch(/^[A-Za-z0-9+/]{43}=\n$/)
  }
})
