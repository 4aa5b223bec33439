import fs, { existsSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openKeyFile } from '../../../src/senders/account/key-file.ts'
import { runCommand } from '../../../src/clients/command/command-line.ts'
import type { CommandServices } from '../../../src/clients/command/command-services.ts'
import { openCommandServices } from '../../../src/clients/command/open-command-services.ts'
import { loadConfig } from '../../../src/platform/config/load-config.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

let services: CommandServices
let place: string
beforeEach(async () => {
  place = testDirectory()
  const env = { STERNA_DATA_DIR: join(place, 'data'), STERNA_HOSTNAME: 'mail.example.net', STERNA_DNS_SERVERS: '127.0.0.1:1' }
  const opened = await openCommandServices(loadConfig({ env }), silentLog)
  onTestFinished(() => opened.close())
  services = opened.services
})

const backup = () => runCommand({ argv: ['backup', 'copy.db', '--with-key'], cwd: place }, services)
const made = () => readdirSync(place).filter((name) => name !== 'data')

/** What is flushed and renamed from now on, by the names of the files. */
function changes(): string[] {
  const seen: string[] = []
  const { open, rename } = fs.promises
  const nameOf = (path: unknown): string => (path === place ? 'directory' : String(path).slice(place.length + 1))
  fs.promises.open = async (...args: Parameters<typeof open>): Promise<FileHandle> => {
    const handle = await open(...args)
    const sync = handle.sync.bind(handle)
    handle.sync = () => (seen.push(`flush ${nameOf(args[0])}`), sync())
    return handle
  }
  fs.promises.rename = (from, to) => (seen.push(`rename ${nameOf(from)} ${nameOf(to)}`), rename(from, to))
  syncBuiltinESMExports()
  onTestFinished(() => {
    Object.assign(fs.promises, { open, rename })
    syncBuiltinESMExports()
  })
  return seen
}

test('a backup and its key have their names only once they are on disk, and these are too', async () => {
  const seen = changes()
  expect(await backup()).toMatchObject({ exitCode: 0, stdout: `${join(place, 'copy.db')}\n${join(place, 'copy.db.key')}\n` })
  expect(seen).toEqual([
    'flush copy.db.part',
    'rename copy.db.part copy.db',
    'flush directory',
    'flush copy.db.key.part',
    'rename copy.db.key.part copy.db.key',
    'flush directory',
  ])
  expect(made()).toEqual(['copy.db', 'copy.db.key'])
  expect(made().map((name) => statSync(join(place, name)).mode & 0o777)).toEqual([0o600, 0o600])
})

test('what a backup that was killed has left is no hindrance once its empty file is removed', async () => {
  for (const name of ['copy.db', 'copy.db.part', 'copy.db.part-journal']) writeFileSync(join(place, name), name === 'copy.db' ? '' : 'half')
  expect((await backup()).stderr).toContain('already exists')
  rmSync(join(place, 'copy.db'))
  expect(await backup()).toMatchObject({ exitCode: 0 })
  expect(made()).toEqual(['copy.db', 'copy.db.key'])
})

test('a key file that is not the one of the database is not copied, and no backup is left', async () => {
  const { secretKeyFile } = services.config
  const key = readFileSync(secretKeyFile)
  renameSync(secretKeyFile, `${secretKeyFile}.aside`)
  expect((await backup()).stderr).toContain('secret.key cannot be used')
  openKeyFile(secretKeyFile)
  expect((await backup()).stderr).toContain('is not the key file of this database')
  expect(made()).toEqual([])
  renameSync(`${secretKeyFile}.aside`, secretKeyFile)
  await backup()
  expect(readFileSync(join(place, 'copy.db.key')).equals(key)).toBe(true)
  expect(existsSync(join(place, 'copy.db.part'))).toBe(false)
})
