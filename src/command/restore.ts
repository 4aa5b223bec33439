import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { adoptStagedKey, stageKey } from '../account/key-switch.ts'
import { fingerprintOf, readKeyFile } from '../account/key-file.ts'
import type { Config } from '../config/settings.ts'
import { flushDirectory, flushFile } from '../durable-file.ts'
import { messageOf, SternaError } from '../errors.ts'
import { silentLog } from '../log.ts'
import { commitTo, databaseFile, findDatabase, newRestoredName } from '../store/data-directory.ts'
import { holdDirectory, requireIdle } from '../store/hold-directory.ts'
import { requireWhole } from '../store/sqlite-connection.ts'
import { keyFileBeside } from './backup-commands.ts'
import { argument, flagOption, textOption, type CommandInput, type CommandOutput } from './command.ts'
import { openCommandParts } from './open-command-parts.ts'

/** The directory in which a backup is looked at. */
const stagingName = 'restoring'

/**
 * Puts a backup in the place of the data directory's database. It is opened and brought up to date aside first, so
 * that a file that is no backup changes nothing. The backup gets a directory of its own beside what was there, and one rename makes it
 * the current database, with its key: whenever this is cut off, the next start has all of the old data or all of the new.
 * @throws SternaError `configuration` where a server holds the directory, `invalid_state` where data or the key is in
 * the way or missing
 */
export async function restoreBackup(input: CommandInput, config: Config): Promise<CommandOutput> {
  const file = resolve(input.cwd, argument(input, 0))
  if (!existsSync(file)) throw new SternaError('not_found', `There is no file ${file}.`)
  const keyFile = findKeyFile(input, file, config)
  const { dataDir } = config
  const held = holdDirectory(dataDir)
  try {
    requireIdle(dataDir, held)
    const before = databaseIn(dataDir)
    if (!flagOption(input, 'force')) requireNothingInTheWay(before, keyFile, config)
    // From before a directory said so, and there will be two.
    if (before !== null) commitTo(dataDir, before, held.lock)
    const staging = join(dataDir, stagingName)
    try {
      // One that was cut off may have left it.
      rmSync(staging, { recursive: true, force: true })
      mkdirSync(staging, { mode: 0o700 })
      const accounts = await prepare(file, { ...config, dataDir: staging, secretKeyFile: keyFile })
      const target = moveIn(databaseFile(staging), dataDir)
      switchTo(target, keyFile, held.lock, config)
      const kept = before === null ? '' : ` What was there is kept: ${before}.`
      return { stdout: `${target}\n`, stderr: `Restored, accounts: ${accounts}.${kept} Start with: sterna serve\n` }
    } finally {
      rmSync(staging, { recursive: true, force: true })
    }
  } finally {
    held.release()
  }
}

function findKeyFile(input: CommandInput, file: string, config: Config): string {
  const named = textOption(input, 'key')
  const candidates = named === undefined ? [keyFileBeside(file), config.secretKeyFile] : [resolve(input.cwd, named)]
  const found = candidates.find((candidate) => existsSync(candidate))
  if (found !== undefined) return found
  throw new SternaError(
    'invalid_state',
    `The key file of the backup is missing, without which its secrets cannot be read. Looked for ${candidates.join(' and ')}. ` +
      'Name it with --key KEYFILE.',
  )
}

/** The file of the database that is there; null where there is none, or only what is left of one. */
function databaseIn(directory: string): string | null {
  try {
    const { file, isNew } = findDatabase(directory)
    return isNew ? null : file
  } catch (error) {
    if (error instanceof SternaError) return null
    throw error
  }
}

function requireNothingInTheWay(database: string | null, keyFile: string, { dataDir, secretKeyFile }: Config): void {
  if (database !== null) {
    throw new SternaError('invalid_state', `${dataDir} holds data already. With --force it is kept beside and replaced.`)
  }
  if (existsSync(secretKeyFile) && !isSameFile(keyFile, secretKeyFile)) {
    throw new SternaError(
      'invalid_state',
      `${secretKeyFile} is another key than the backup's. With --force it is kept beside and replaced.`,
    )
  }
}

const isSameFile = (one: string, other: string): boolean => readFileSync(one).equals(readFileSync(other))

/** Opens a copy with the key, which checks both and brings the schema up to date; answers how many accounts it holds. */
async function prepare(file: string, config: Config): Promise<number> {
  const copy = databaseFile(config.dataDir)
  try {
    copyPrivately(file, copy)
    // A database that was not made by `sterna backup` may have its last commits beside it.
    if (existsSync(`${file}-wal`)) copyPrivately(`${file}-wal`, `${copy}-wal`)
    requireWhole(config.dataDir)
    const { parts, close } = await openCommandParts(config, silentLog)
    try {
      for (const { keys } of parts.sendingDomains.list()) for (const { id } of keys) parts.sendingDomains.privateKey(id)
      return parts.accounts.list().length
    } finally {
      await close()
    }
  } catch (error) {
    throw new SternaError('invalid_state', `${file} cannot be restored: ${messageOf(error)}`, { cause: error })
  }
}

function copyPrivately(from: string, to: string): void {
  copyFileSync(from, to)
  chmodSync(to, 0o600)
}

/** Gives a database that nobody has open a directory of its own, on disk. */
function moveIn(database: string, dataDir: string): string {
  // It was closed without room for it, and part of the data is in there still.
  if (existsSync(`${database}-wal`)) throw new SternaError('invalid_state', `There is no room in ${dataDir} for the backup.`)
  const directory = join(dataDir, newRestoredName(dataDir))
  const target = join(directory, basename(database))
  mkdirSync(directory, { mode: 0o700 })
  flushFile(database)
  renameSync(database, target)
  for (const changed of [directory, dataDir]) flushDirectory(changed)
  return target
}

/** From one database and key to another: all of the old until the directory is committed to the new one, all of the new from then on. */
function switchTo(database: string, keyFile: string, lock: string, { dataDir, secretKeyFile }: Config): void {
  const isInPlace = existsSync(secretKeyFile) && isSameFile(keyFile, secretKeyFile)
  if (!isInPlace) stageKey(secretKeyFile, readFileSync(keyFile, 'latin1'))
  commitTo(dataDir, database, lock)
  if (!isInPlace) adoptStagedKey(secretKeyFile, fingerprintOf(readKeyFile(keyFile)))
}
