import { existsSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { openCommandServices } from '../../src/command/open-command-services.ts'
import { restoreBackup } from '../../src/command/restore.ts'
import { showUpgrade } from '../../src/command/upgrade-command.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { silentLog } from '../../src/log.ts'
import { migrations, newestSchema } from '../../src/store/migrate.ts'
import { backUpBefore, removeUpgradeBackups } from '../../src/store/upgrade-backup.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { makeFirstData, type FirstData } from '../support/first-schema.ts'
import { inOtherProcess } from '../support/other-process.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'

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

/** A data directory with a database of this schema, and what is in it. */
function dataOf(version: number): { directory: string; data: FirstData } {
  const directory = join(testDirectory(), 'data')
  return { directory, data: makeFirstData(directory, { keyFile: join(directory, 'secret.key'), version, now: Date.now() }) }
}

/** Starts as a command does; what it finds. */
async function start(directory: string, more: Record<string, string> = {}) {
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
  const { json, stdout } = showUpgrade(configFor(directory), '1.2.3')
  const backup = join(directory, `before-upgrade-${version}-to-${newest}.db`)
  expect(json).toEqual({ object: 'upgrade', version: '1.2.3', schema_from: version, schema_to: newest, backup })
  expect(stdout).toContain(`from ${version} to ${newest}`)
  expect(backupsIn(directory)).toEqual([])
  expect(await start(directory)).toEqual(whole(data))
  expect(backupsIn(directory)).toEqual([`before-upgrade-${version}-to-${newest}.db`])
  expect(statSync(backup).mode & 0o777).toBe(0o600)
  expect(showUpgrade(configFor(directory), '1.2.3').stdout).toContain('there is nothing to do')
})

test('an upgrade that is killed within any migration goes on at the next start, and its first backup stays', async () => {
  for (const version of versions.filter((_, place) => place % 3 === 1)) {
    const { directory, data } = dataOf(1)
    // The migration is done, and not committed.
    const script = `
      const { openWriter } = await source('store/sqlite-connection.ts')
      const { migrate, migrations } = await source('store/migrate.ts')
      const { backUpBefore, upgradeOf } = await source('store/upgrade-backup.ts')
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
  }
})

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
  await expect(start(directory)).rejects.toThrow(/has schema \d+, but this version of Sterna knows schemas only up to .* docs\/upgrade\.md/)
  expect(showUpgrade(configFor(directory), '1.2.3').stdout).toContain('it does not start')
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
