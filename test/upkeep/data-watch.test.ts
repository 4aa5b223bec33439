import { chmodSync, copyFileSync, renameSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { addGeneration, openKeyFile } from '../../src/senders/account/key-file.ts'
import { KeyRing } from '../../src/senders/account/key-ring.ts'
import { DataWatch } from '../../src/upkeep/data-watch.ts'
import { Health } from '../../src/platform/health.ts'
import { silentLog } from '../../src/platform/log.ts'
import { openDatabase } from '../../src/platform/store/sqlite/sqlite-database.ts'
import { testDirectory } from '../support/temporary-directory.ts'

async function watched() {
  const dataDir = testDirectory()
  const { db, files } = await openDatabase({ directory: dataDir })
  onTestFinished(() => db.close())
  const secretKeyFile = join(dataDir, 'secret.key')
  const health = new Health({ clock: { now: () => 0 }, log: silentLog })
  const secrets = new KeyRing(openKeyFile(secretKeyFile), null)
  const watch = new DataWatch({ config: { secretKeyFile }, files, secrets, health })
  await watch.start()
  onTestFinished(() => watch.stop())
  const faults = async (): Promise<string[]> => {
    await watch.look()
    return health.faults.map(({ name }) => name)
  }
  return { dataDir, secretKeyFile, secrets, faults }
}

test.each(['sterna.db', 'sterna.db-wal', 'sterna.db-shm'])('reports that %s was removed or replaced, until it is back', async (name) => {
  const { dataDir, faults } = await watched()
  const path = join(dataDir, name)
  expect(await faults()).toEqual([])
  renameSync(path, `${path}.aside`)
  expect(await faults()).toEqual(['database_gone'])
  copyFileSync(`${path}.aside`, path)
  expect(await faults()).toEqual(['database_gone'])
  rmSync(path)
  renameSync(`${path}.aside`, path)
  expect(await faults()).toEqual([])
})

test('reports that the data directory is gone', async () => {
  const { dataDir, faults } = await watched()
  renameSync(dataDir, `${dataDir}.aside`)
  expect(await faults()).toEqual(['database_gone', 'key_file'])
  renameSync(`${dataDir}.aside`, dataDir)
  expect(await faults()).toEqual([])
})

test('reports that the key file is gone, was replaced, or cannot be used at the next start', async () => {
  const { secretKeyFile, faults } = await watched()
  renameSync(secretKeyFile, `${secretKeyFile}.aside`)
  expect(await faults()).toEqual(['key_file'])
  openKeyFile(secretKeyFile)
  expect(await faults()).toEqual(['key_file'])
  expect(await faults()).toEqual(['key_file'])
  renameSync(`${secretKeyFile}.aside`, secretKeyFile)
  expect(await faults()).toEqual([])
  chmodSync(secretKeyFile, 0o644)
  expect(await faults()).toEqual(['key_file'])
  chmodSync(secretKeyFile, 0o600)
  expect(await faults()).toEqual([])
  // The same key, written anew.
  utimesSync(secretKeyFile, 1, 1)
  expect(await faults()).toEqual([])
})

test('a new key may be withdrawn until it is in use', async () => {
  const { secretKeyFile, secrets, faults } = await watched()
  const before = `${secretKeyFile}.before`
  copyFileSync(secretKeyFile, before)
  const withdraw = () => renameSync(before, secretKeyFile)
  addGeneration(secretKeyFile)
  expect(await faults()).toEqual([])
  const added = secrets.newest
  expect(added).not.toBe(secrets.used)
  copyFileSync(secretKeyFile, `${secretKeyFile}.new`)
  withdraw()
  expect(await faults()).toEqual([])
  expect(secrets.newest).toBe(secrets.used)
  // Other nodes had it, and one has taken it into use at that moment.
  expect(secrets.use(added)).toBe(true)
  expect(await faults()).toEqual(['key_file'])
  renameSync(`${secretKeyFile}.new`, secretKeyFile)
  expect(await faults()).toEqual([])
})
