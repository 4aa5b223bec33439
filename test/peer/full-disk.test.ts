import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { compileFileShim, FileShim } from '../../scripts/campaign/file-shim.ts'
import { firstAccount } from '../support/first-account.ts'
import { sternaCommand } from '../support/sterna-command.ts'
import { testDirectory } from '../support/temporary-directory.ts'

let root: string
let shim: FileShim

function sterna(dataDir: string, ...words: string[]): { status: number | null; stderr: string } {
  const [program, ...first] = sternaCommand
  const env = {
    ...process.env,
    STERNA_DATA_DIR: join(root, dataDir),
    STERNA_HOSTNAME: 'mail.example.net',
    STERNA_DNS_SERVERS: '127.0.0.1:1',
  }
  const { status, stderr } = spawnSync(program, [...first, ...words], { env: { ...env, ...shim.environment }, encoding: 'utf8', cwd: root })
  return { status, stderr }
}

beforeEach(() => {
  const directory = realpathSync(testDirectory())
  root = join(directory, 'root')
  mkdirSync(root)
  shim = new FileShim(compileFileShim(directory), directory, root)
  for (const words of [firstAccount(directory, 'one', 'free'), ['backup', 'copy.db', '--with-key'], ['backup', 'target/', '--with-key']])
    expect(sterna('data', ...words)).toMatchObject({ status: 0 })
})

test.each([
  ['a file', 'copy.db', 0],
  ['a directory, as the first bytes are fetched', 'target/', 0],
  ['a directory, once some are fetched', 'target/', 3],
])('a restore of %s on a full disk says where and how much, and leaves nothing', (_, from, skip) => {
  shim.fail({ error: 'ENOSPC', calls: ['write', 'truncate'], path: '/restoring/', skip })
  const { status, stderr } = sterna('new', 'restore', from)
  expect(stderr).toMatch(
    new RegExp(`^sterna: There is not enough space in ${join(root, 'new')} for the backup: it needs more than the \\d+ MB that`),
  )
  expect(status).toBe(1)
  expect(readdirSync(join(root, 'new')).filter((name) => name.startsWith('restor'))).toEqual([])
  shim.fail(null)
  expect(sterna('new', 'restore', from)).toMatchObject({ status: 0 })
})

test.each(['.part$', '.part-journal'])('a backup that fails for want of space leaves neither a part nor a journal: %s', (path) => {
  for (const skip of [0, 1, 4]) {
    shim.fail({ error: 'ENOSPC', calls: ['write', 'truncate'], path, skip })
    const { status } = sterna('data', 'backup', 'other.db')
    shim.fail(null)
    expect(readdirSync(root).filter((name) => name.startsWith('other') && (name !== 'other.db' || status !== 0))).toEqual([])
  }
})
