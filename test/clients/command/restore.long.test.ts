import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect, test } from 'vitest'
import { backupCommands } from '../../../src/clients/command/backup-commands.ts'
import { noClient } from '../../../src/clients/command/command-line.ts'
import { openCommandServices } from '../../../src/clients/command/open-command-services.ts'
import { restoreBackup } from '../../../src/clients/command/restore.ts'
import { loadConfig } from '../../../src/platform/config/load-config.ts'
import type { Config } from '../../../src/platform/config/settings.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { cutOffBefore } from '../../support/cut-off.ts'
import { inOtherProcess } from '../../support/other-process.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

const configFor = (directory: string): Config =>
  loadConfig({ env: { STERNA_DATA_DIR: directory, STERNA_HOSTNAME: 'mail.example.net', STERNA_DNS_SERVERS: '127.0.0.1:1' } })

/** A start as a command's; what it finds: the accounts, and that the key opens what is stored. */
async function start(config: Config): Promise<string[]> {
  const { services, close } = await openCommandServices(config, silentLog)
  try {
    for (const { keys } of services.sendingDomains.list()) for (const { id } of keys) services.sendingDomains.privateKey(id)
    return services.accounts.list().map(({ name }) => name)
  } finally {
    await close()
  }
}

async function change(config: Config, account: string): Promise<void> {
  const { services, close } = await openCommandServices(config, silentLog)
  const { id } = await services.accounts.create(account, 'free')
  await services.sendingDomains.add(id, `${account}.example`)
  await close()
}

async function backup(config: Config, file: string): Promise<void> {
  const { services, close } = await openCommandServices(config, silentLog)
  await backupCommands[0]?.run?.({ args: [file], options: { 'with-key': true }, cwd: '/' }, services, noClient)
  await close()
}

const restore = (config: Config, file: string, options: Record<string, string | boolean> = { force: true }) =>
  restoreBackup({ args: [file], options, cwd: '/' }, config)

/** Writes an account in a process that is killed: its last commits are in the WAL alone. */
function changeAndDie(config: Config, account: string): void {
  const script = `
    const { openCommandServices } = await source('clients/command/open-command-services.ts')
    const { silentLog } = await source('platform/log.ts')
    const { services } = await openCommandServices(given.config, silentLog)
    await services.accounts.create(given.account, 'free')
    process.kill(process.pid, 'SIGKILL')`
  expect(inOtherProcess(script, { config, account })).toEqual({ signal: 'SIGKILL', stdout: '', stderr: '' })
}

/** A data directory whose last change is in its WAL, and a backup of it, or of another with another key, from before that change. */
async function twoStates(ofAnother: boolean): Promise<{ now: string; file: string }> {
  const directory = testDirectory()
  const now = join(directory, 'now')
  await change(configFor(now), 'first')
  const source = ofAnother ? join(directory, 'another') : now
  if (ofAnother) await change(configFor(source), 'other')
  const file = join(directory, 'backup.db')
  await backup(configFor(source), file)
  changeAndDie(configFor(now), 'last')
  expect(statSync(join(now, 'sterna.db-wal')).size).toBeGreaterThan(0)
  return { now, file }
}

test.each([
  ['with another key', true, false],
  ['over data from before a directory named its database', false, true],
])('a restore that is cut off at any step leaves all of the old data or all of the new, %s', async (_, ofAnother, isOld) => {
  const { now, file } = await twoStates(ofAnother)
  if (isOld) rmSync(join(now, 'database.json'))
  const restored = ofAnother ? ['other'] : ['first']
  const found: string[][] = []
  for (let count = 1, isCutOff = true; isCutOff; count++) {
    const directory = join(testDirectory(), 'data')
    cpSync(now, directory, { recursive: true })
    const config = configFor(directory)
    isCutOff = (await cutOffBefore(count, () => restore(config, file))) >= count
    found.push(await start(config))
    // It can be repeated, whatever was left.
    if (count % 5 === 0) {
      await restore(config, file)
      expect(await start(config)).toEqual(restored)
      expect(existsSync(join(directory, 'restoring'))).toBe(false)
    }
  }
  const switchedAt = found.findIndex((accounts) => !accounts.includes('last'))
  expect(switchedAt).toBeGreaterThan(5)
  expect(found.slice(0, switchedAt).map(String)).toEqual(found.slice(0, switchedAt).map(() => 'first,last'))
  expect(found.slice(switchedAt).map(String)).toEqual(found.slice(switchedAt).map(() => restored.join()))
})

test('what is replaced stays whole where it was, its last commits beside it, and can be gone back to', async () => {
  const { now, file } = await twoStates(true)
  const config = configFor(now)
  const before = ['sterna.db', 'sterna.db-wal', 'secret.key'].map((name) => readFileSync(join(now, name)))
  const { stdout, stderr } = await restore(config, file)
  expect(stdout).toBe(`${join(now, 'restored-1', 'sterna.db')}\n`)
  expect(stderr).toContain(`The previous data was kept: ${join(now, 'sterna.db')}.`)
  expect(readdirSync(join(now, 'restored-1'))).toEqual(['sterna.db'])
  expect(await start(config)).toEqual(['other'])
  const after = ['sterna.db', 'sterna.db-wal', 'replaced-1-secret.key'].map((name) => readFileSync(join(now, name)))
  expect(after.map((bytes, place) => bytes.equals(before[place] as Buffer))).toEqual([true, true, true])

  await restore(config, join(now, 'sterna.db'), { force: true, key: join(now, 'replaced-1-secret.key') })
  expect(await start(config)).toEqual(['first', 'last'])
})

test('a backup goes into the place of a database that is gone, without force, and the WAL that is left of it stays', async () => {
  const { now, file } = await twoStates(false)
  const config = configFor(now)
  rmSync(join(now, 'sterna.db'))
  const wal = readFileSync(join(now, 'sterna.db-wal'))
  await expect(start(config)).rejects.toThrow('sterna restore BACKUP')
  await restore(config, file, {})
  expect(await start(config)).toEqual(['first'])
  expect(readFileSync(join(now, 'sterna.db-wal')).equals(wal)).toBe(true)
})

const noBackups: [what: string, make: (file: string) => void, why: RegExp][] = [
  ['an empty file', (file) => writeFileSync(file, ''), /not an SQLite database/],
  ['half a backup', (file) => writeFileSync(file, readFileSync(file).subarray(0, 40_960)), /damaged|malformed/],
  ["somebody else's database", (file) => (rmSync(file), new Sqlite(file).exec('create table t (x)').close()), /not a database of Sterna/],
]
test.each(noBackups)('%s is no backup, and changes nothing', async (_, make, why) => {
  const { now, file } = await twoStates(false)
  make(file)
  const config = configFor(now)
  await expect(restore(config, file)).rejects.toThrow(why)
  expect(readdirSync(now).filter((name) => name.startsWith('restor'))).toEqual([])
  expect(await start(config)).toEqual(['first', 'last'])
})

test('nothing is restored under a process that has the database open, even where its lock was removed', async () => {
  const { now, file } = await twoStates(false)
  const config = configFor(now)
  const { close } = await openCommandServices(config, silentLog)
  const script = `
    const { restoreBackup } = await source('clients/command/restore.ts')
    await restoreBackup({ args: [given.file], options: { force: true }, cwd: '/' }, given.config)`
  const attempt = (): string => inOtherProcess(script, { config, file }).stderr
  expect(attempt()).toContain('in use by another Sterna process')
  rmSync(join(now, 'lock'))
  expect(attempt()).toContain('Another process has')
  await close()
  expect(await start(config)).toEqual(['first', 'last'])
})

test('a key file that cannot be replaced is told before anything is switched', async () => {
  const { now, file } = await twoStates(true)
  // A directory that is mounted read-only looks like this to whoever is not root; a file where a directory should be, to everybody.
  const keys = join(now, 'keys')
  mkdirSync(keys)
  renameSync(join(now, 'secret.key'), join(keys, 'secret.key'))
  const config = { ...configFor(now), secretKeyFile: join(keys, 'secret.key') }
  mkdirSync(join(keys, 'secret.key.restored'))
  await expect(restore(config, file)).rejects.toThrow()
  expect(existsSync(join(keys, 'replaced-1-secret.key'))).toBe(false)
  expect(await start(config)).toEqual(['first', 'last'])
})

test('what an operator keeps in the data directory stays, also where its name begins alike', async () => {
  const { now, file } = await twoStates(false)
  for (const name of ['restore-2026.db', 'restored-by-me']) writeFileSync(join(now, name), 'mine')
  await restore(configFor(now), file)
  expect(['restore-2026.db', 'restored-by-me'].map((name) => readFileSync(join(now, name), 'utf8'))).toEqual(['mine', 'mine'])
})
