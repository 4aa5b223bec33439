import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { openCommandServices } from '../../src/clients/command/open-command-services.ts'
import { restoreBackup } from '../../src/clients/command/restore.ts'
import { runAlone } from '../../src/clients/command/run-alone.ts'
import { noClient } from '../../src/clients/command/command-line.ts'
import { commands } from '../../src/clients/command/command-list.ts'
import { lineOf } from '../support/command-lines.ts'
import { upgradeDatabase } from '../../src/clients/command/upgrade-command.ts'
import { loadConfig } from '../../src/platform/config/load-config.ts'
import { silentLog } from '../../src/platform/log.ts'
import { migrations, newestSchema } from '../../src/platform/store/schema-steps.ts'
import { migrate } from '../../src/platform/store/sqlite/migrate.ts'
import { openWriter } from '../../src/platform/store/sqlite/sqlite-connection.ts'
import { openDatabase } from '../../src/platform/store/sqlite/sqlite-database.ts'
import { backUpBefore, removeUpgradeBackups } from '../../src/platform/store/sqlite/upgrade-backup.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { makeFirstData, upTo, type FirstData } from '../support/first-schema.ts'
import { inOtherProcess } from '../support/other-process.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { processDirectory, testDirectory } from '../support/temporary-directory.ts'

const minute = 60_000
const page = { limit: 10, after: null, before: null }
const newest = newestSchema()
const versions = migrations().map(({ version }) => version)

const configFor = (directory: string, more: Record<string, string> = {}) =>
  loadConfig({
    env: { STERNA_DATA_DIR: directory, STERNA_HOSTNAME: 'mail.example.net', STERNA_DNS_SERVERS: '127.0.0.1:1', ...more },
  })

const schemaOf = (file: string): number => {
  const connection = new Sqlite(file, { readonly: true })
  try {
    return connection.pragma('user_version', { simple: true }) as number
  } finally {
    connection.close()
  }
}

const backupsIn = (directory: string): string[] => readdirSync(directory).filter((name) => name.startsWith('before-upgrade'))

let copied: { directory: string; version: number; data: FirstData } | undefined

/** A data directory with a database of this schema, and what is in it: a copy of one that has been brought from each schema to the next. */
function dataOf(version: number): { directory: string; data: FirstData } {
  if (!copied || copied.version > version) {
    const directory = join(processDirectory(), 'data')
    copied = { directory, version, data: makeFirstData(directory, { keyFile: join(directory, 'secret.key'), version, now: Date.now() }) }
  } else if (copied.version < version) {
    const connection = openWriter(copied.directory)
    migrate(connection, upTo(version))
    connection.close()
    copied.version = version
  }
  const directory = join(testDirectory(), 'data')
  cpSync(copied.directory, directory, { recursive: true })
  return { directory, data: copied.data }
}

/** Upgrades the data as `sterna upgrade` does, and opens it as a command does; what it finds. */
async function start(directory: string, more: Record<string, string> = {}) {
  await upgrade(directory, { more })
  const { services, close } = await openCommandServices(configFor(directory, more), silentLog)
  try {
    const { accounts, sendingDomains, queueAdmin, webhooks } = services
    return {
      accounts: accounts.list().map(({ name }) => name),
      keys: sendingDomains.list().flatMap(({ keys }) => keys.map(({ id }) => sendingDomains.privateKey(id).length > 1000)),
      queue: (await queueAdmin.list()).map(({ destination, recipients, held }) => [destination, recipients, held]),
      webhooks: (await webhooks.page({ accountId: accounts.getAccount('first').id, sandbox: false }, page)).map(({ secret }) => secret),
    }
  } finally {
    await close()
  }
}

const upgrade = (directory: string, { dryRun = false, more = {} }: { dryRun?: boolean; more?: Record<string, string> } = {}) =>
  upgradeDatabase({ args: [], options: { 'dry-run': dryRun }, cwd: '/' }, configFor(directory, more), { version: '1.2.3', tell() {} })

/** Runs a command where no server runs. */
const command = (directory: string, line: string) =>
  runAlone({ argv: line.split(' '), cwd: directory }, { config: configFor(directory), log: silentLog, client: noClient, version: 'test' })

const whole = ({ webhookSecret }: FirstData) => ({
  accounts: ['first'],
  keys: [true],
  queue: [['rcpt.example', 2, 0]],
  webhooks: [webhookSecret],
})

test('a relay upgrades the schema of the first release, delivers what was queued in it, and serves all of it', async () => {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port) },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: ['127.0.0.2'] } },
  )
  onTestFinished(() => relay.stop())
  const { dataDir } = relay
  let data = {} as FirstData
  await relay.restart(() => {
    for (const name of readdirSync(dataDir)) rmSync(join(dataDir, name), { recursive: true })
    data = makeFirstData(dataDir, { keyFile: join(dataDir, 'secret.key'), version: 1, now: relay.clock.now() })
  })
  relay.clock.advance(2 * minute)
  const authorization = `Bearer ${data.token}`
  const get = async (path: string) => (await relay.call('GET', path, undefined, { authorization })).body
  for (const id of [data.fresh, data.deferred]) await expect.poll(async () => (await get(`/api/emails/${id}`)).status).toBe('delivered')
  expect(mx.messages.map(({ rcptTo }) => rcptTo[0]).toSorted()).toEqual(['deferred@rcpt.example', 'fresh@rcpt.example'])
  for (const { data: sent } of mx.messages) expect(sent.toString()).toMatch(/^DKIM-Signature: .*d=old\.example/ms)

  expect((await get('/api/emails')).data).toHaveLength(3)
  expect((await get('/api/emails?tag=kind%3Dold')).data.map(({ id }: { id: string }) => id)).toContain(data.delivered)
  expect((await get('/api/domains')).data).toMatchObject([{ name: 'old.example', status: 'verified' }])
  expect((await get('/api/webhooks')).data).toMatchObject([{ url: 'https://app.example/hook' }])
  expect((await get('/api/suppressions')).data).toMatchObject([{ email: 'gone@rcpt.example' }])
  expect((await get(`/api/emails/${data.delivered}/events`)).data.map(({ type }: { type: string }) => type)).toContain('email.delivered')
  const operator = { authorization: `Bearer ${data.operatorToken}` }
  expect((await relay.call('GET', '/api/queue', undefined, operator)).body.data).toEqual([])

  expect(backupsIn(dataDir)).toEqual([`before-upgrade-1-to-${newest}.db`])
  expect(schemaOf(join(dataDir, `before-upgrade-1-to-${newest}.db`))).toBe(1)
})

test.each(versions.slice(0, -1))('data of schema %i is all there after the upgrade', async (version) => {
  const { directory, data } = dataOf(version)
  expect(await start(directory)).toEqual(whole(data))
  const backup = `before-upgrade-${version}-to-${newest}.db`
  expect(backupsIn(directory)).toEqual([backup])
  expect(statSync(join(directory, backup)).mode & 0o777).toBe(0o600)
})

const some = [versions[0]!, 12, versions.at(-2)!]
test.each(some)('an upgrade from schema %i is announced first, and made once', async (version) => {
  const { directory } = dataOf(version)
  const { json, stdout } = await upgrade(directory, { dryRun: true })
  const backup = join(directory, `before-upgrade-${version}-to-${newest}.db`)
  expect(json).toEqual({ object: 'upgrade', version: '1.2.3', schema_from: version, schema_to: newest, backup, dry_run: true })
  expect(stdout).toContain(`from ${version} to ${newest}`)
  expect([backupsIn(directory), schemaOf(join(directory, 'sterna.db'))]).toEqual([[], version])
  await upgrade(directory)
  expect((await upgrade(directory)).stdout).toContain('there is nothing to do')
})

const lines = commands.flatMap((each) => (each.run && !['backup', 'health'].includes(each.name) ? [lineOf(each).join(' ')] : []))
test('commands refuse an older schema, and change nothing; a backup copies it as it is, and its restore is upgraded', async () => {
  const { directory, data } = dataOf(12)
  const file = join(directory, 'sterna.db')
  const before = readFileSync(file)
  const refusal = `The database has schema 12, and this version of Sterna works with schema ${newest}. Nothing was changed.`
  for (const line of lines) await expect(command(directory, line)).rejects.toThrow(refusal)
  expect(readFileSync(file).equals(before)).toBe(true)
  expect(await command(directory, 'backup ../copy.db --with-key')).toMatchObject({ exitCode: 0 })
  mkdirSync(join(directory, '../target'))
  const { stdout } = await command(directory, 'backup ../target --with-key --json')
  expect(JSON.parse(stdout)).toMatchObject({ object: 'backup', content: { schema: 12, accounts: 2, emails: 3 } })
  expect([backupsIn(directory), schemaOf(file), schemaOf(join(directory, '../copy.db'))]).toEqual([[], 12, 12])
  for (const [place, name] of [
    ['../copy.db', 'from-file'],
    ['../target', 'from-target'],
  ] as const) {
    const restored = join(directory, '..', name)
    const { json } = await restoreBackup({ args: [place], options: {}, cwd: directory }, configFor(restored))
    expect(json).toMatchObject({ object: 'restore', accounts: 1, held_recipients: 2 })
    expect(await start(restored)).toEqual({ ...whole(data), queue: [['rcpt.example', 2, 2]] })
  }

  expect(await upgrade(directory)).toMatchObject({
    stdout: expect.stringMatching(
      new RegExp(`The schema of the database was 12, and is ${newest} now\\. .*before-upgrade-12-to-${newest}\\.db`),
    ),
    json: { schema_from: 12, schema_to: newest, dry_run: false },
  })
  expect(schemaOf(join(directory, `before-upgrade-12-to-${newest}.db`))).toBe(12)
  expect((await command(directory, 'account list')).stdout).toContain('first')
})

test.each(versions.filter((_, place) => place % 3 === 1))(
  'an upgrade that is killed within migration %i goes on at the next start, and its first backup stays',
  async (version) => {
    const { directory, data } = dataOf(1)
    // The migration is done, and not committed.
    const script = `
      const { openWriter } = await source('platform/store/sqlite/sqlite-connection.ts')
      const { migrate } = await source('platform/store/sqlite/migrate.ts')
      const { migrations } = await source('platform/store/schema-steps.ts')
      const { backUpBefore, upgradeOf } = await source('platform/store/sqlite/upgrade-backup.ts')
      const connection = openWriter(given.directory)
      await backUpBefore(upgradeOf(connection, ${newest}, { directory: given.directory, isBackedUp: true }), connection)
      const last = migrations().find(({ version }) => version === given.version).sql
      const exec = connection.exec.bind(connection)
      connection.exec = (sql) => (exec(sql), sql === last && process.kill(process.pid, 'SIGKILL'))
      migrate(connection)`
    expect(inOtherProcess(script, { directory, version })).toMatchObject({ signal: 'SIGKILL', stderr: '' })
    expect(await start(directory)).toEqual(whole(data))
    const backups = backupsIn(directory)
    expect(backups).toContain(`before-upgrade-1-to-${newest}.db`)
    expect(backups).toHaveLength(version === 2 ? 1 : 2)
  },
)

test('the backup of an upgrade can be gone back to: it holds what it had queued, and is upgraded again', async () => {
  const { directory, data } = dataOf(12)
  await start(directory)
  const backup = join(directory, `before-upgrade-12-to-${newest}.db`)
  const { json } = await restoreBackup({ args: [backup], options: { force: true }, cwd: '/' }, configFor(directory))
  expect(json).toMatchObject({ object: 'restore', accounts: 1, held_recipients: 2 })
  expect(await start(directory)).toEqual({ ...whole(data), queue: [['rcpt.example', 2, 2]] })
  expect(backupsIn(directory)).toEqual([`before-upgrade-12-to-${newest}.db`])
})

test('without room for the backup nothing is changed; an operator can go on without one', async () => {
  const { directory, data } = dataOf(20)
  const file = join(directory, 'sterna.db')
  const connection = new Sqlite(file)
  const backup = join(directory, 'before-upgrade-20-to-99.db')
  await expect(backUpBefore({ from: 20, to: 99, backup, size: Number.MAX_SAFE_INTEGER }, connection)).rejects.toThrow(
    'STERNA_UPGRADE_BACKUP',
  )
  connection.close()
  expect([backupsIn(directory), schemaOf(file)]).toEqual([[], 20])
  expect(await start(directory, { STERNA_UPGRADE_BACKUP: 'false' })).toEqual(whole(data))
  expect([backupsIn(directory), schemaOf(file)]).toEqual([[], newest])
})

test('an older version refuses a newer schema and says what to do', async () => {
  const { directory } = dataOf(newest)
  const file = join(directory, 'sterna.db')
  const connection = new Sqlite(file)
  connection.pragma(`user_version = ${newest + 1}`)
  connection.close()
  const refusal = new RegExp(
    `has schema ${newest + 1}, but this version of Sterna knows schemas only up to ${newest}\\. .* docs/upgrade\\.md`,
  )
  await expect(upgrade(directory)).rejects.toThrow(refusal)
  for (const line of ['account list', 'backup ../copy.db']) await expect(command(directory, line)).rejects.toThrow(refusal)
  await expect(openDatabase({ directory })).rejects.toThrow(refusal)
})

test('backups of upgrades are removed once they are old', async () => {
  const { directory } = dataOf(versions.at(-2) ?? 0)
  await start(directory)
  const [name = ''] = backupsIn(directory)
  removeUpgradeBackups(directory, Date.now() - minute)
  expect(backupsIn(directory)).toEqual([name])
  const longAgo = new Date(Date.now() - 2 * minute)
  utimesSync(join(directory, name), longAgo, longAgo)
  removeUpgradeBackups(directory, Date.now() - minute)
  expect(backupsIn(directory)).toEqual([])
  expect(existsSync(join(directory, 'sterna.db'))).toBe(true)
})
