import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { firstAccount } from '../support/first-account.ts'
import { runCommandLine } from '../support/run-commands.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const { path: directory, remove } = temporaryDirectory()
const config = join(directory, 'sterna.yml')
const sterna = (...argv: string[]) => runCommandLine(argv, { cwd: directory })

beforeAll(async () => {
  writeFileSync(config, `data_dir: ${directory}/data\nhostname: mail.example.net\n`)
  expect(await sterna(...firstAccount(directory, 'shop', 'starter'), '--config', config)).toMatchObject({ exitCode: 0 })
})
afterAll(remove)

const refusals: [argv: string[], exitCode: number, stderr: RegExp][] = [
  [['acount', 'list'], 2, /did you mean "account"\?/],
  [['account'], 2, /needs one of: create, list, suspend, resume/],
  [['account', 'create'], 2, /NAME is missing\. Usage: .*sterna\S* account create NAME/],
  [['account', 'create', 'a', 'b'], 2, /"b" is one argument too many/],
  [['key', 'create'], 2, /--account is missing/],
  [['key', 'create', '--acount', 'x'], 2, /There is no option "--acount"; did you mean "--account"\?/],
  [['key', 'create', '--account', 'nobody'], 1, /There is no account "nobody"/],
  [['account', 'create', 'b', '--plan', 'gold'], 2, /There is no plan "gold"; choose one of free/],
  [['key', 'create', '--account', 'shop', '--permission', 'all'], 2, /--permission is "all"/],
  [['key', 'create', '--account', 'shop', '--expires', 'soon'], 2, /--expires .*time/],
  [['account', 'delete', 'shop'], 2, /there is no terminal to ask on\. Add --yes/],
  [['account', 'delete', 'nobody', '--yes'], 1, /There is no account "nobody"/],
  [['domain', 'add', 'co.uk', '--account', 'shop'], 2, /public suffix/],
  [['webhook', 'add', 'ftp://x', '--account', 'shop'], 2, /http/],
  [['webhook', 'add', 'http://x.example', '--account', 'shop', '--events', 'email.sned'], 2, /--events/],
  [['queue', 'retry', 'nowhere.example'], 1, /Nothing in the queue matches/],
]
test.each(refusals)('sterna %j is refused with an explanation', async (argv, exitCode, stderr) => {
  const ran = await sterna(...argv, '--config', config)
  expect(ran).toMatchObject({ exitCode, stdout: '' })
  expect(ran.stderr).toMatch(/^sterna: /)
  expect(ran.stderr).toMatch(stderr)
})

// without-data.long.test.ts has every command.
const lines = [
  ['account', 'list'],
  ['erase', 'a@b.example', '--yes'],
  ['domain', 'add', 'shop.example', '--account', 'default'],
]
test.each(lines.map((argv) => [argv]))('sterna %j creates nothing where there is no data', async (argv) => {
  const file = join(directory, 'nowhere.yml')
  writeFileSync(file, `data_dir: ${directory}/nowhere\n`)
  const ran = await sterna(...argv, '--config', file)
  expect(ran).toMatchObject({ exitCode: 1, stdout: '' })
  expect(ran.stderr).toMatch(/^sterna: There is no server's data in \S+nowhere\. .*STERNA_DATA_DIR/)
  expect(existsSync(join(directory, 'nowhere'))).toBe(false)
})
