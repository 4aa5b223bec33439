import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { adoptStagedKey, stageKey } from '../../senders/account/key-switch.ts'
import { fingerprintOf, hasKey, readKeyFile } from '../../senders/account/key-file.ts'
import { accessOf, configuredTarget } from '../../upkeep/backup/backup-settings.ts'
import { fetchFrom, unpackFile } from '../../upkeep/backup/find-backup.ts'
import { identitiesIn } from '../../upkeep/backup/age-identity.ts'
import { restoreCopy } from '../../upkeep/backup/restore-copy.ts'
import { openTarget } from '../../upkeep/backup/open-target.ts'
import type { Config } from '../../platform/config/settings.ts'
import { flushDirectory, flushFile } from '../../platform/durable-file.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime, parseIsoTime } from '../../platform/iso-time.ts'
import { silentLog } from '../../platform/log.ts'
import { closedStore, type ClosedFiles, type HeldFiles } from '../../platform/store/closed-store.ts'
import { StorageFullError } from '../../platform/store/database.ts'
import { isFull } from '../../platform/store/disk-space.ts'
import { requireFiles } from '../../platform/store/store.ts'
import { isTarget, keyFileBeside } from './backup-commands.ts'
import { argument, flagOption, textOption, usageFault, type CommandInput, type CommandOutput } from './command.ts'
import { holdRestored, noteCopied, restoredHold, type RestoredHold } from '../../mail-out/queue/restored-hold.ts'
import { openCommandServices } from './open-command-services.ts'
import { noRoom, requireRoom } from './restore-room.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/** The directory in which a backup is checked. */
const stagingName = 'restoring'

/**
 * Replaces the data directory's database with a backup. It first opens and migrates a copy, so a file that is not a backup changes nothing.
 * The backup gets a directory of its own next to the existing data, and one rename makes it the current database together with its key.
 * Whenever this is interrupted, the next start has all of the old data or all of the new.
 * @throws SternaError `configuration` if a server holds the directory, `invalid_state` if data or a key is in the way or missing, or the
 *   database is on a server
 */
export async function restoreBackup(input: CommandInput, config: Config, store = closedStore(config)): Promise<CommandOutput> {
  const files = requireFiles(store.files, 'restore')
  const place = argument(input, 0) || configuredTarget(config)
  const source = isTarget(place, input.cwd) ? targetSource(place, input, config) : fileSource(place, input, config)
  const { dataDir } = config
  const held = files.hold()
  try {
    const before = hasData(files) ? files.database : null
    if (!flagOption(input, 'force')) requireNoData(before, config)
    // The directory is from before it named its database, and there will be two.
    if (before !== null) held.commitTo(before)
    const staging = join(dataDir, stagingName)
    try {
      // An interrupted restore may have left it.
      rmSync(staging, { recursive: true, force: true })
      mkdirSync(staging, { mode: 0o700 })
      const { file, keyFile: found } = await source(join(staging, 'fetched.db'))
      requireRoom(dataDir, [file, `${file}-wal`])
      const keyFile = currentIfEnough(found, config)
      if (!flagOption(input, 'force')) requireSameKey(keyFile, config)
      const prepared = requireFiles(closedStore({ dataDir: staging, store: { url: null } }).files, 'restore')
      // The file that is being restored is the backup.
      const upgrade = { ...config.upgrade, backup: false }
      const { accounts, held: hold } = await prepare(file, prepared, { ...config, dataDir: staging, secretKeyFile: keyFile, upgrade })
      const target = moveIn(prepared.database, join(dataDir, held.newName()))
      switchTo(target, keyFile, held, config)
      const kept = before === null ? '' : ` The previous data was kept: ${before}.`
      return {
        stdout: `${target}\n`,
        json: { object: 'restore', database: target, accounts, held_recipients: hold.recipients, previous_database: before },
        stderr: `Restored. Accounts: ${accounts}.${kept} ${toldHold(hold)} Now start the server.\n`,
      }
    } catch (error) {
      throw isFull(error) ? noRoom(dataDir, staging) : error
    } finally {
      rmSync(staging, { recursive: true, force: true })
    }
  } finally {
    held.release()
  }
}

/** Gives the files to restore. What must be fetched or unpacked first is put in the file that it is called with, and beside it. */
type Source = (fetched: string) => Promise<{ file: string; keyFile: string }>

function fileSource(place: string, input: CommandInput, config: Config): Source {
  if (timeOf(input) !== null || flagOption(input, 'copy')) throw usageFault(`${place} is no directory or bucket with a continuous copy.`)
  const file = resolve(input.cwd, place)
  if (!existsSync(file)) throw new SternaError('not_found', `There is no file ${file}.`)
  const keyFile = findKeyFile(input, keyFileBeside(file), config)
  if (!/\.(?:zst|age)$/.test(file)) return async () => ({ file, keyFile })
  const identities = identitiesOf(input)
  return async (fetched) => {
    await unpackFile(file, fetched, identities)
    return { file: fetched, keyFile }
  }
}

function targetSource(place: string, input: CommandInput, config: Config): Source {
  const target = openTarget(place, accessOf(config), input.cwd)
  const identities = identitiesOf(input)
  const at = timeOf(input)
  if (at !== null || flagOption(input, 'copy')) {
    return async (fetched) => {
      await restoreCopy(target, { at, origin: textOption(input, 'origin') }, fetched, identities)
      return { file: fetched, keyFile: findKeyFile(input, null, config) }
    }
  }
  return async (fetched) => {
    const { file, keyFile } = await fetchFrom(target, textOption(input, 'backup'), fetched, identities)
    return { file, keyFile: findKeyFile(input, keyFile, config) }
  }
}

function timeOf(input: CommandInput): number | null {
  const text = textOption(input, 'at')
  if (text === undefined) return null
  const at = parseIsoTime(text)
  if (at !== null) return at
  throw usageFault(`"${text}" is not a time. Write it like --at 2026-11-23T10:00:00Z.`)
}

function identitiesOf(input: CommandInput): string[] {
  const named = textOption(input, 'identity')
  if (named === undefined) return []
  const file = resolve(input.cwd, named)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new SternaError('not_found', `The age identity ${file} cannot be read: ${reasonOf(error)}.`, { cause: error })
  }
  return identitiesIn(text, file)
}

function findKeyFile(input: CommandInput, beside: string | null, config: Config): string {
  const named = textOption(input, 'key')
  const usual = beside === null ? [config.secretKeyFile] : [beside, config.secretKeyFile]
  const candidates = named === undefined ? usual : [resolve(input.cwd, named)]
  const found = candidates.find((candidate) => existsSync(candidate))
  if (found !== undefined) return found
  throw new SternaError(
    'invalid_state',
    'The key file of the backup is missing, and without it its secrets cannot be read. Sterna looked for ' +
      `${candidates.join(' and ')}. Name it with --key KEYFILE.`,
  )
}

/** False also if there are only remains of a database. */
function hasData(files: ClosedFiles): boolean {
  try {
    return !files.isNew()
  } catch (error) {
    if (error instanceof SternaError) return false
    throw error
  }
}

function requireNoData(database: string | null, { dataDir }: Config): void {
  if (database === null) return
  throw new SternaError('invalid_state', `${dataDir} already holds data. With --force it is replaced, and kept.`)
}

/** The current key file, if it has the key of the backup among others: what was signed with newer ones stays valid. */
function currentIfEnough(keyFile: string, { secretKeyFile }: Config): string {
  try {
    return hasKey(readKeyFile(secretKeyFile), fingerprintOf(readKeyFile(keyFile))) ? secretKeyFile : keyFile
  } catch {
    return keyFile
  }
}

function requireSameKey(keyFile: string, { secretKeyFile }: Config): void {
  if (existsSync(secretKeyFile) && !isSameFile(keyFile, secretKeyFile)) {
    throw new SternaError('invalid_state', `${secretKeyFile} is a different key from the backup's. With --force it is replaced, and kept.`)
  }
}

const isSameFile = (one: string, other: string): boolean => readFileSync(one).equals(readFileSync(other))

/** Opens a copy with the key, which checks both, migrates the schema and holds the mail that is queued in it. */
async function prepare(file: string, staged: ClosedFiles, config: Config): Promise<{ accounts: number; held: RestoredHold }> {
  const copy = staged.database
  try {
    copyPrivately(file, copy)
    // A database that was not made by `sterna backup` may have its last commits in the file next to it.
    if (existsSync(`${file}-wal`)) copyPrivately(`${file}-wal`, `${copy}-wal`)
    staged.requireWhole()
    const { services, close } = await openCommandServices(config, silentLog, { isStaging: true })
    try {
      for (const { keys } of services.sendingDomains.list()) for (const { id } of keys) services.sendingDomains.privateKey(id)
      await noteCopied(services)
      await holdRestored(services)
      const held = await restoredHold(services.db)
      if (!held) throw new Error('the copy does not say that it is one')
      return { accounts: services.accounts.list().length, held }
    } finally {
      await close()
    }
  } catch (error) {
    throw new SternaError('invalid_state', `${file} cannot be restored: ${reasonOf(error)}`, { cause: error })
  }
}

const toldHold = ({ copiedAt, recipients }: RestoredHold): string =>
  `It has nothing from after ${isoTime(copiedAt)}. The mail that was queued then (recipients: ${recipients}) is held: see ` +
  'sterna queue release --help.'

function copyPrivately(from: string, to: string): void {
  copyFileSync(from, to)
  chmodSync(to, 0o600)
}

/** Moves a database that nobody has open into a directory of its own, and flushes it. */
function moveIn(database: string, directory: string): string {
  // It was closed while the disk was full, so part of the data is still in there.
  if (existsSync(`${database}-wal`)) throw new StorageFullError()
  const target = join(directory, basename(database))
  mkdirSync(directory, { mode: 0o700 })
  flushFile(database)
  renameSync(database, target)
  for (const changed of [directory, dirname(directory)]) flushDirectory(changed)
  return target
}

/**
 * Switches from one database and key to another: everything is old until the directory is committed to the new one, and everything is new
 * from then on.
 */
function switchTo(database: string, keyFile: string, held: HeldFiles, { secretKeyFile }: Config): void {
  const isInPlace = existsSync(secretKeyFile) && isSameFile(keyFile, secretKeyFile)
  if (!isInPlace) stageKey(secretKeyFile, readFileSync(keyFile, 'latin1'))
  held.commitTo(database)
  if (!isInPlace) adoptStagedKey(secretKeyFile, fingerprintOf(readKeyFile(keyFile)))
}
