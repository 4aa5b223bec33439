import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstAccount } from '../support/first-account.ts'
import { runCommandLine, type Ran } from '../support/run-commands.ts'

const directory = mkdtempSync(join(tmpdir(), 'sterna-cli-'))
const config = join(directory, 'sterna.yml')

beforeAll(() => {
  // The name server does not exist: a look-up ends as a failure at once.
  writeFileSync(config, `data_dir: ${directory}/data\nhostname: mail.example.net\ndns.servers: 127.0.0.1:1\n`)
})
afterAll(() => rmSync(directory, { recursive: true }))

const sterna = (...argv: string[]): Promise<Ran> => runCommandLine(argv, { cwd: directory })

/** With the configuration file; fails where the command does. */
const succeed = async (...argv: string[]): Promise<string> => {
  const ran = await sterna(...argv, '--config', config)
  expect(ran).toMatchObject({ exitCode: 0 })
  return ran.stdout
}

test('a session on the command line, without a server', async () => {
  await succeed(...firstAccount(directory, 'shop', 'starter'))
  expect(await succeed('key', 'create', '--account', 'shop')).toMatch(/^sterna_live_\w{49}\n$/)
  expect(await succeed('key', 'create', '--account', 'shop', '--sandbox', '--name', 'tests')).toMatch(/^sterna_test_\w{49}\n$/)
  const [, line = ''] = (await succeed('key', 'list', '--account', 'shop')).split('\n')
  await succeed('key', 'revoke', line.split(' ')[0] ?? '', '--yes')
  expect((await succeed('key', 'list', '--account', 'shop')).split('\n')).toHaveLength(3)

  const domain = JSON.parse(await succeed('domain', 'add', 'Example.COM', '--account', 'shop', '--json')) as {
    name: string
    records: { type: string; name: string; value: string }[]
  }
  expect(domain).toMatchObject({ object: 'domain', name: 'example.com', status: 'not_started' })
  expect(domain.records).toContainEqual(expect.objectContaining({ type: 'MX', value: 'mail.example.net', priority: 10 }))
  expect(await sterna('domain', 'verify', 'example.com', '--config', config)).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(/^sterna: example\.com is pending\. Missing or wrong records: TXT /),
  })
  expect(await succeed('domain', 'verify', 'example.com', '--manual')).toBe('example.com is verified\n')
  expect(await succeed('domain', 'list')).toContain('verified')
  expect(await succeed('domain', 'show', 'example.com')).toMatch(/^MX +send\.example\.com +10 +\S+ +mail\.example\.net$/m)
  const zone = await sterna('domain', 'show', 'example.com', '--zone', '--config', config)
  expect(zone.stdout).toContain('send.example.com.\t3600\tIN\tMX\t10 mail.example.net.\n')
  expect(zone.stdout).not.toMatch(/^(?!\S+\.\t3600\tIN\t)./m)
  expect(zone.stderr).toContain('Publish in other zones, for this server itself:\nmail.example.net.\t3600\tIN\tMX\t10 mail.example.net.\n')

  const webhook = JSON.parse(await succeed('webhook', 'add', 'https://example.com/hook', '--account', 'shop', '--events', 'email.sent'))
  expect(webhook).toMatchObject({ object: 'webhook', events: ['email.sent'], signing_secret: expect.stringMatching(/^whsec_/) })
  expect(await succeed('queue', 'list')).toMatch(/^DESTINATION/)
  await succeed('account', 'suspend', 'shop')
  expect(await succeed('account', 'list')).toMatch(/shop +starter +suspended/)
  await succeed('account', 'resume', 'shop')
})

describe('backup and restore', () => {
  const backup = join(directory, 'backup.db')
  const elsewhere = (name: string): string => {
    const file = join(directory, `${name}.yml`)
    writeFileSync(file, `data_dir: ${directory}/${name}\n`)
    return file
  }

  test('a backup is a new file for its owner alone; the key is included only on request', async () => {
    expect(await succeed('backup', 'backup.db')).toBe(`${backup}\n`)
    expect(statSync(backup).mode & 0o777).toBe(0o600)
    expect(existsSync(`${backup}.key`)).toBe(false)
    expect(await sterna('backup', 'backup.db', '--config', config)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/already exists/),
    })
  })

  test('a restore requires the right key, and then everything is back', async () => {
    const other = elsewhere('other')
    expect((await sterna('restore', 'backup.db', '--config', other)).stderr).toMatch(/key file of the backup is missing/)
    writeFileSync(join(directory, 'wrong.key'), `${Buffer.alloc(32, 1).toString('base64')}\n`, { mode: 0o600 })
    expect((await sterna('restore', 'backup.db', '--key', 'wrong.key', '--config', other)).stderr).toMatch(/cannot be restored: .*key file/)
    expect(readdirSync(join(directory, 'other')).toSorted()).toEqual(['database.json', 'lock'])
    const restored = await sterna('restore', 'backup.db', '--key', 'data/secret.key', '--config', other)
    expect(restored.exitCode).toBe(0)
    expect(restored.stderr).toMatch(/^Restored\. Accounts: 1\. It has nothing from after \S+Z\. .*Now start the server\.\n$/)
    expect((await sterna('account', 'list', '--config', other)).stdout).toContain('shop')
    expect((await sterna('domain', 'list', '--config', other)).stdout).toContain('verified')
  })

  test('existing data is replaced only by force, and kept even then', async () => {
    const other = elsewhere('other')
    const [first, second] = ['restored-1', 'restored-2'].map((name) => join(directory, 'other', name, 'sterna.db')) as [string, string]
    const before = readFileSync(first)
    expect((await sterna('restore', 'backup.db', '--config', other)).stderr).toMatch(/already holds data/)
    expect(await sterna('restore', 'backup.db', '--force', '--config', other)).toEqual({
      exitCode: 0,
      stdout: `${second}\n`,
      stderr: expect.stringContaining(`Restored. Accounts: 1. The previous data was kept: ${first}. It has nothing from after `),
    })
    expect(readFileSync(first).equals(before)).toBe(true)
    expect(existsSync(join(directory, 'other', 'restoring'))).toBe(false)
  })

  test('a file that is not a backup changes nothing', async () => {
    const broken = elsewhere('broken')
    writeFileSync(join(directory, 'broken.db'), 'x'.repeat(5000))
    const ran = await sterna('restore', 'broken.db', '--key', 'data/secret.key', '--config', broken)
    expect(ran).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/broken\.db cannot be restored/) })
    expect(readdirSync(join(directory, 'broken')).toSorted()).toEqual(['database.json', 'lock'])
  })
})

test('configuration faults are reported before anything is touched', async () => {
  const file = join(directory, 'faulty.yml')
  writeFileSync(file, 'mode: lvie\nhttp.lisen: 1\n')
  const ran = await sterna('account', 'list', '--config', file)
  expect(ran.exitCode).toBe(1)
  expect(ran.stderr).toMatch(/2 errors:\n.*faulty\.yml:2: .*did you mean http\.listen\?\n.*faulty\.yml:1: mode: "lvie"/)
})

test('what needs no server prints JSON too', async () => {
  writeFileSync(join(directory, 'mail.html'), '<a href="https://shop.example/">x</a>')
  writeFileSync(join(directory, 'note.eml'), 'From: a@b.example\n\nhello\n')
  expect(await succeed('backup', 'json.db')).toContain('json.db')
  const other = join(directory, 'json.yml')
  writeFileSync(other, `data_dir: ${directory}/json\n`)
  const lines: [argv: string[], object: object][] = [
    [
      ['restore', 'json.db', '--key', 'data/secret.key', '--config', other],
      { object: 'restore', accounts: expect.any(Number), previous_database: null },
    ],
    [['compact', '--config', other], { object: 'compaction', bytes_after: expect.any(Number) }],
    [['tracking', 'rewrite', 'mail.html'], { object: 'rewritten_html', html: expect.stringContaining('https://track.example/t/c/') }],
    [['feedback', 'parse', 'note.eml'], { file: 'note.eml', class: 'not-bounce', recipients: [] }],
  ]
  for (const [argv, object] of lines) {
    const { stdout, stderr, exitCode } = await sterna(...argv, '--json')
    expect({ argv, stderr, exitCode }).toEqual({ argv, stderr: '', exitCode: 0 })
    expect(JSON.parse(stdout)).toMatchObject(object)
  }
})

test('help and version need no configuration', async () => {
  expect((await sterna('version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  expect((await sterna()).stdout).toContain('account create')
  expect(JSON.parse((await sterna('version', '--json')).stdout)).toEqual({ object: 'version', version: expect.any(String) })
  expect(JSON.parse((await sterna('help', '--json')).stdout)).toMatchObject({ object: 'list' })
  expect((await sterna('help', 'queue')).stdout).toContain('sterna queue hold')
  expect((await sterna('key', 'create', '--help')).stdout).toContain('--sandbox')
})
