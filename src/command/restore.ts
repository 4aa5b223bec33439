import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Config } from '../config/settings.ts'
import { messageOf, SternaError } from '../errors.ts'
import { silentLog } from '../log.ts'
import { databaseFile, lockDirectory } from '../store/sqlite-connection.ts'
import { keyFileBeside } from './backup-commands.ts'
import { argument, flagOption, textOption } from './command.ts'
import type { CommandInput, CommandOutput } from './command.ts'
import { openCommandParts } from './open-command-parts.ts'

/**
 * Puts a backup in the place of the data directory's database. It is opened and brought up to date aside first, so
 * that a file that is no backup changes nothing.
 * @throws SternaError `configuration` where a server holds the directory, `invalid_state` where data or the key is in
 * the way or missing
 */
export async function restoreBackup(input: CommandInput, config: Config): Promise<CommandOutput> {
  const file = resolve(input.cwd, argument(input, 0))
  if (!existsSync(file)) throw new SternaError('not_found', `There is no file ${file}.`)
  const keyFile = findKeyFile(input, file, config)
  const key = readFileSync(keyFile)
  const force = flagOption(input, 'force')
  const lock = lockDirectory(config.dataDir)
  try {
    const target = databaseFile(config.dataDir)
    if (existsSync(target) && !force) {
      throw new SternaError('invalid_state', `${config.dataDir} holds data already. With --force it is kept beside and replaced.`)
    }
    if (existsSync(config.secretKeyFile) && !readFileSync(config.secretKeyFile).equals(key) && !force) {
      const message = `${config.secretKeyFile} is another key than the backup's. With --force it is kept beside and replaced.`
      throw new SternaError('invalid_state', message)
    }
    const staging = mkdtempSync(join(config.dataDir, 'restore-'))
    try {
      const accounts = await prepare(file, { ...config, dataDir: staging, secretKeyFile: keyFile })
      for (const path of [target, `${target}-wal`, `${target}-shm`]) putAside(path)
      renameSync(databaseFile(staging), target)
      replaceKey(config.secretKeyFile, key)
      return { stdout: `${target}\n`, stderr: `Restored, accounts: ${accounts}. Start with: sterna serve\n` }
    } finally {
      rmSync(staging, { recursive: true, force: true })
    }
  } finally {
    lock.close()
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

/** Opens a copy with the key, which checks both and brings the schema up to date; answers how many accounts it holds. */
async function prepare(file: string, config: Config): Promise<number> {
  copyFileSync(file, databaseFile(config.dataDir))
  try {
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

function replaceKey(path: string, key: Buffer): void {
  if (existsSync(path)) {
    if (readFileSync(path).equals(key)) return
    putAside(path)
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, key, { mode: 0o600, flush: true })
}

/** Renames what is replaced, numbered, so that nothing is ever lost by restoring the wrong file. */
function putAside(path: string): void {
  if (!existsSync(path)) return
  let number = 1
  const aside = (): string => join(dirname(path), `replaced-${number}-${basename(path)}`)
  while (existsSync(aside())) number++
  renameSync(path, aside())
}
