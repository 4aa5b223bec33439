import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { accessOf } from '../../../src/upkeep/backup/backup-settings.ts'
import { openTarget } from '../../../src/upkeep/backup/open-target.ts'
import { storeBackup } from '../../../src/upkeep/backup/store-backup.ts'
import { runCommand } from '../../../src/clients/command/command-line.ts'
import type { CommandServices } from '../../../src/clients/command/command-services.ts'
import { listBackupsAt, newIdentity } from '../../../src/clients/command/backup-commands.ts'
import { openCommandServices } from '../../../src/clients/command/open-command-services.ts'
import { restoreBackup } from '../../../src/clients/command/restore.ts'
import { loadConfig } from '../../../src/platform/config/load-config.ts'
import type { Config } from '../../../src/platform/config/settings.ts'
import { silentLog } from '../../../src/platform/log.ts'
import { testS3 } from '../../support/test-s3.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

const { identity, recipient } = (await newIdentity()).json as { identity: string; recipient: string }

let place: string
beforeEach(() => void (place = testDirectory()))

const configOf = (settings: Record<string, string>, directory = 'data'): Config =>
  loadConfig({
    env: { STERNA_DATA_DIR: join(place, directory), STERNA_HOSTNAME: 'mail.example.net', STERNA_DNS_SERVERS: '127.0.0.1:1', ...settings },
  })

async function open(config: Config): Promise<CommandServices> {
  const { services, close } = await openCommandServices(config, silentLog)
  onTestFinished(close)
  return services
}

const run = async (services: CommandServices, ...argv: string[]) => {
  const result = await runCommand({ argv, cwd: place }, services)
  return result.exitCode === 0 ? result.stdout.trim() : result.stderr
}

const restore = (config: Config, from: string, options: Record<string, string> = {}) =>
  restoreBackup({ args: [from], options: { key: join(place, 'data/secret.key'), ...options }, cwd: place }, config)

async function accountsIn(config: Config): Promise<string[]> {
  const { services, close } = await openCommandServices(config, silentLog)
  const names = services.accounts.list().map(({ name }) => name)
  await close()
  return names
}

describe.each([
  ['a directory', 'copies', async () => ({})],
  ['S3', 's3://copies/here', testS3],
] as const)('a backup in %s', (_, target, settingsFor) => {
  test.each([
    ['in the clear', {}],
    ['encrypted', { STERNA_BACKUP_ENCRYPT_TO: recipient }],
  ])('%s is listed and restored, the newest or a named one', async (_, more) => {
    const settings = { ...(await settingsFor()), ...more }
    const services = await open(configOf(settings))
    await services.accounts.create('first', 'free')
    const older = await run(services, 'backup', target === 'copies' ? 'copies/' : target)
    await services.accounts.create('second', 'free')
    await run(services, 'backup', target === 'copies' ? 'copies/' : target)
    const rows = (await listBackupsAt({ args: [target], options: {}, cwd: place }, configOf(settings))).stdout.trim().split('\n')
    expect(rows).toHaveLength(3)
    expect(rows[1]).toMatch(new RegExp(`^${older}  .* 0 +${'STERNA_BACKUP_ENCRYPT_TO' in more ? 'yes' : 'no'}$`))

    writeFileSync(join(place, 'identity'), identity)
    const options = { identity: join(place, 'identity') }
    await restore(configOf(settings, 'newest'), target, options)
    expect(await accountsIn(configOf(settings, 'newest'))).toEqual(['first', 'second'])
    await restore(configOf(settings, 'older'), target, { ...options, backup: older })
    expect(await accountsIn(configOf(settings, 'older'))).toEqual(['first'])
  })
})

test('the key file is only stored where it is asked for, and then found', async () => {
  const services = await open(configOf({}))
  await run(services, 'backup', '--with-key', 'copies/')
  const key = readFileSync(join(place, 'data/secret.key'))
  const config = configOf({}, 'new')
  await restoreBackup({ args: ['copies'], options: {}, cwd: place }, config)
  expect(readFileSync(join(place, 'new/secret.key')).equals(key)).toBe(true)
  for (const name of readdirSync(join(place, 'copies')).filter((name) => name.includes('.key.'))) rmSync(join(place, 'copies', name))
  await expect(restoreBackup({ args: ['copies'], options: {}, cwd: place }, configOf({}, 'other'))).rejects.toThrow(
    /There is no sterna-.*\.key\.zst in /,
  )
})

describe('what is not as it was stored is refused, and changes nothing', () => {
  let config: Config
  let files: string[]
  const at = (end: string): string => join(place, 'copies', files.find((name) => name.endsWith(end)) ?? end)
  beforeEach(async () => {
    const services = await open(configOf({}))
    await run(services, 'backup', 'copies/')
    files = readdirSync(join(place, 'copies'))
    config = configOf({}, 'new')
  })
  const refusal = async (): Promise<string> => {
    const message = await restore(config, 'copies').then(
      () => 'taken',
      (error: Error) => error.message,
    )
    expect(existsSync(join(place, 'new/sterna.db'))).toBe(false)
    expect(existsSync(join(place, 'new/restoring'))).toBe(false)
    return message
  }

  test('a damaged one', async () => {
    const bytes = readFileSync(at('.zst'))
    bytes[bytes.length - 9] = (bytes[bytes.length - 9] as number) ^ 255
    writeFileSync(at('.zst'), bytes)
    expect(await refusal()).toMatch(/cannot be restored: .*\. Use another backup\.$/)
  })

  test('a truncated one', async () => {
    writeFileSync(at('.zst'), readFileSync(at('.zst')).subarray(0, 5000))
    expect(await refusal()).toMatch(/cannot be restored: unexpected end of file/)
  })

  test('one that was swapped with another', async () => {
    const services = await open(configOf({}, 'another'))
    await services.accounts.create('stranger', 'free')
    await run(services, 'backup', 'strange/')
    const strange = join(place, 'strange')
    writeFileSync(at('.zst'), readFileSync(join(strange, readdirSync(strange).find((name) => name.endsWith('.zst')) as string)))
    expect(await refusal()).toMatch(/cannot be restored: it is not the file that was stored/)
  })

  test('one without its end', async () => {
    rmSync(at('.json'))
    expect(await refusal()).toMatch(/^There is no complete backup in /)
  })

  test.each<[string, (manifest: any) => void]>([
    ['another file of this machine', ({ database }) => (database.name = '../../../../../../etc/passwd')],
    ['a device in place of the key', (manifest) => (manifest.key = { name: '../../../../../../dev/zero', sha256: '', bytes: 0 })],
    ['no name', ({ database }) => delete database.name],
    ['nothing about the key', (manifest) => delete manifest.key],
    ['nothing about the content', (manifest) => delete manifest.content],
  ])('one whose description has %s', async (_, change) => {
    const manifest = JSON.parse(readFileSync(at('.json'), 'utf8'))
    change(manifest)
    writeFileSync(at('.json'), JSON.stringify(manifest))
    expect(await refusal()).toMatch(/ does not describe this backup\. Use another one\.$/)
    const services = await open(configOf({}, 'another'))
    const newer = await run(services, 'backup', 'copies/')
    const listed = await listBackupsAt({ args: ['copies'], options: {}, cwd: place }, config)
    expect(listed).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining(newer),
      stderr: expect.stringContaining('does not describe'),
    })
  })

  test.runIf(process.platform !== 'win32')('one with a pipe or a device in place of a file', async () => {
    const path = at('.zst')
    rmSync(path)
    execFileSync('mkfifo', [path])
    expect(await refusal()).toMatch(/\.db\.zst is not a file/)
    rmSync(path)
    symlinkSync('/dev/zero', path)
    expect(await refusal()).toMatch(/\.db\.zst is not a file/)
  })

  test('one of several data directories, where none is named', async () => {
    const services = await open(configOf({}, 'another'))
    await run(services, 'backup', 'copies/')
    expect(await refusal()).toMatch(/holds the backups of 2 data directories\. Say which: --backup sterna-\S+ or --backup sterna-\S+\.$/)
  })
})

test('a scheduled backup is counted, old ones go, others stay, and a failure is a fault until the next success', async () => {
  const config = configOf({
    STERNA_BACKUP_TARGET: join(place, 'copies'),
    STERNA_BACKUP_SCHEDULE: '0 3 * * *',
    STERNA_BACKUP_KEEP: 'last=2',
  })
  const { backups, health } = await open(config)
  const made = () => readdirSync(join(place, 'copies')).filter((name) => name.endsWith('.json'))
  await backups.runScheduled()
  const foreign = (made()[0] as string).replace(/[0-9a-f]{8}\.json/, 'ffffffff.json')
  writeFileSync(join(place, 'copies', foreign), '')
  writeFileSync(join(place, 'copies/mine.json'), '')
  for (let i = 0; i < 3; i++) await backups.runScheduled()
  expect(made()).toHaveLength(5)
  expect(made()).toEqual(expect.arrayContaining([foreign, 'mine.json']))
  expect(health.faults).toEqual([])

  renameSync(join(place, 'copies'), join(place, 'aside'))
  // As where nothing is mounted.
  mkdirSync(join(place, 'copies'))
  await backups.runScheduled()
  expect(health.has('backup')).toBe(true)
  expect(health.isServing).toBe(true)
  expect(made()).toEqual([])
  rmdirSync(join(place, 'copies'))
  await backups.runScheduled()
  expect(existsSync(join(place, 'copies'))).toBe(false)
  renameSync(join(place, 'aside'), join(place, 'copies'))
  await backups.runScheduled()
  expect(health.has('backup')).toBe(false)
})

test('a backup that fails leaves nothing, and what a killed one has left goes after a day', async () => {
  const config = configOf({ STERNA_BACKUP_TARGET: join(place, 'copies'), STERNA_BACKUP_SCHEDULE: '0 3 * * *' })
  const services = await open(config)
  const names = () => readdirSync(join(place, 'copies')).sort()
  const stem = await run(services, 'backup', 'copies/')
  const stems = [stem, stem.replace(/\d{8}T/, '20200101T'), stem.replace(/\d{8}T/, '20200101T').replace(/.{8}$/, 'ffffffff')]
  const [young, left, foreign] = stems.map((each) => `${each}.db.zst`)
  for (const name of [left, foreign]) writeFileSync(join(place, 'copies', name as string), 'half')
  rmSync(join(place, 'copies', `${stem}.json`))
  await services.backups.runScheduled()
  expect(names()).toHaveLength(5)
  expect(names()).toEqual(expect.arrayContaining([young, foreign]))
  expect(names()).not.toContain(left)

  const full = openTarget('full', accessOf(config), place)
  await full.prepare('')
  const put = full.put.bind(full)
  full.put = async (name, content) => (name.endsWith('.json') ? Promise.reject(new Error('it is full')) : put(name, content))
  const file = join(place, 'copy.db')
  await services.files?.backup(file)
  await expect(storeBackup({ stem, file, keyFile: config.secretKeyFile, recipients: [] }, full)).rejects.toThrow('it is full')
  expect(readdirSync(join(place, 'full'))).toEqual([])
})

test('a backup that is overdue is a fault', async () => {
  const { backups, health } = await open(
    configOf({ STERNA_BACKUP_TARGET: join(place, 'copies'), STERNA_BACKUP_SCHEDULE: '0 3 * * *', STERNA_BACKUP_OVERDUE_AFTER: '1ms' }),
  )
  await expect.poll(async () => (await backups.look(), health.has('backup'))).toBe(true)
})
