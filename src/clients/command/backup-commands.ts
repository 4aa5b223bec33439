import { statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { accessOf, configuredTarget } from '../../upkeep/backup/backup-settings.ts'
import type { Backups } from '../../upkeep/backup/backups.ts'
import { copyKeyFile } from '../../upkeep/backup/copy-key-file.ts'
import { listBackups, readManifest, type Manifest } from '../../upkeep/backup/store-backup.ts'
import { isS3, openTarget } from '../../upkeep/backup/open-target.ts'
import type { Config } from '../../platform/config/settings.ts'
import { flushDirectoryLater } from '../../platform/durable-file.ts'
import { messageOf, SternaError } from '../../platform/errors.ts'
import { removeCopy } from '../../platform/store/file-copies.ts'
import { requireFiles, type Store } from '../../platform/store/store.ts'
import { argument, flagOption, listObject, table, type Command, type CommandInput, type CommandOutput } from './command.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/** Where a backup stores the key file, if asked to. */
export const keyFileBeside = (backupFile: string): string => `${backupFile}.key`

/** Creates an empty file that nobody else can read, even while it is being filled. */
async function makeFile(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new SternaError('invalid_state', `${path} already exists. Name a new file.`)
    }
    const message = `${path} cannot be written (${reasonOf(error)}). Name a file where the server's user may write.`
    throw new SternaError('invalid_state', message, { cause: error })
  }
}

/**
 * Renames what `write` wrote to a temporary file into place once it is on disk. Even if this process is killed, half a backup must not look
 * like a whole one: until the rename, the file is empty.
 */
async function fill(file: string, write: (part: string) => Promise<unknown>): Promise<void> {
  const part = `${file}.part`
  // Left by a backup to the same name that was killed.
  removeCopy(part)
  try {
    await makeFile(part)
    await write(part)
    await flush(part)
    await rename(part, file)
    await flushDirectoryLater(dirname(file))
  } finally {
    removeCopy(part)
  }
}

/** Not `flushFile`: a large file would hold up a server's thread for too long. */
async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Whether a backup goes to a place that holds many, and not into a file. */
export function isTarget(place: string, cwd: string): boolean {
  return isS3(place) || place.endsWith('/') || (statSync(resolve(cwd, place), { throwIfNoEntry: false })?.isDirectory() ?? false)
}

interface BackupServices {
  config: Config
  db: Pick<Store['db'], 'read'>
  files: Store['files']
  backups: Pick<Backups, 'make'>
}

/** Makes a backup where the command says: a file of its own, or one of many at a target. */
export function makeBackup(input: CommandInput, services: BackupServices): Promise<CommandOutput> {
  const place = argument(input, 0) || configuredTarget(services.config)
  return isTarget(place, input.cwd) ? backUpTo(place, input, services) : backUpIntoFile(input, services)
}

async function backUpIntoFile(input: CommandInput, { db, config, ...store }: BackupServices): Promise<CommandOutput> {
  const files = requireFiles(store.files, 'backup')
  const file = resolve(input.cwd, argument(input, 0))
  const keyCopy = flagOption(input, 'with-key') ? keyFileBeside(file) : null
  const made: string[] = []
  try {
    for (const target of keyCopy === null ? [file] : [file, keyCopy]) {
      await makeFile(target)
      made.push(target)
    }
    await fill(file, (part) => files.backup(part))
    if (keyCopy !== null) await fill(keyCopy, (part) => copyKeyFile(config.secretKeyFile, part, db))
  } catch (error) {
    for (const target of made) await rm(target, { force: true })
    throw error
  }
  const json = { object: 'backup', file, key_file: keyCopy }
  return { stdout: `${made.join('\n')}\n`, json, stderr: keyCopy === null ? withoutKey(config.secretKeyFile) : '' }
}

async function backUpTo(place: string, input: CommandInput, { backups, config }: BackupServices): Promise<CommandOutput> {
  const manifest = await backups.make(place, { cwd: input.cwd, withKey: flagOption(input, 'with-key') })
  const remark = manifest.key === null ? withoutKey(config.secretKeyFile) : ''
  return { stdout: `${manifest.name}\n`, json: manifest, stderr: remark }
}

const withoutKey = (keyFile: string): string => `It cannot be restored without ${keyFile}. Keep a copy of that file in another place.\n`

/** Lists the complete backups at a target. */
export async function listBackupsAt(input: CommandInput, config: Config): Promise<CommandOutput> {
  const target = openTarget(argument(input, 0) || configuredTarget(config), accessOf(config), input.cwd)
  const manifests: Manifest[] = []
  const remarks: string[] = []
  for (const { stem } of await listBackups(target)) {
    try {
      manifests.push(await readManifest(target, stem))
    } catch (error) {
      // The others are what somebody needs now.
      remarks.push(`${messageOf(error)}\n`)
    }
  }
  const rows = manifests.map(({ name, begun_at, database, content }) => [
    name,
    begun_at,
    String(database.bytes),
    String(content.emails),
    database.name.endsWith('.age') ? 'yes' : 'no',
  ])
  const stdout = table([['NAME', 'BEGUN', 'BYTES', 'EMAILS', 'ENCRYPTED'], ...rows])
  return { stdout, json: listObject(manifests), stderr: remarks.join(''), exitCode: remarks.length === 0 ? 0 : 1 }
}

/** A new age identity, as age-keygen(1) writes it. */
export async function newIdentity(): Promise<CommandOutput> {
  const { generateIdentity, recipientOf } = await import('../../upkeep/backup/age-identity.ts')
  const identity = await generateIdentity()
  const recipient = await recipientOf(identity)
  const remark = `Keep this in a file that this server does not have. Set backup.encrypt_to to ${recipient}\n`
  return { stdout: `# public key: ${recipient}\n${identity}\n`, json: { object: 'backup_identity', identity, recipient }, stderr: remark }
}

export const backupCommands: Command[] = [
  {
    name: 'backup',
    needs: 'any data',
    reads: true,
    args: ['[PLACE]'],
    options: {
      'with-key': { type: 'boolean', doc: 'Also copies the key file. Anyone who has both can read every secret.' },
    },
    doc:
      'Copies the database, as it is now, while the server runs: into a new file, or, packed and checked, into a directory or ' +
      's3://bucket/prefix; default: backup.target. Before an upgrade, with the server stopped, it copies the schema from before.',
    run: makeBackup,
  },
  {
    name: 'backup list',
    needs: 'settings',
    reads: true,
    args: ['[PLACE]'],
    options: {},
    doc: 'Lists the complete backups in a directory or s3://bucket/prefix, oldest first; default: backup.target.',
  },
  {
    name: 'backup identity',
    needs: 'nothing',
    args: [],
    options: {},
    doc: 'Makes an age identity that opens encrypted backups, and the recipient for backup.encrypt_to. Keep the identity elsewhere.',
  },
  {
    name: 'restore',
    needs: 'directory',
    args: ['[PLACE]'],
    options: {
      backup: { type: 'string', value: 'NAME', doc: 'Which backup of a directory or a bucket; default: the newest.' },
      copy: { type: 'boolean', doc: 'Restores the newest state of the continuous copy, not a backup.' },
      at: { type: 'string', value: 'TIME', doc: 'Restores the state of the continuous copy at this time (ISO 8601).' },
      origin: { type: 'string', value: 'ID', doc: 'Of which data directory, if the copies of several are there.' },
      identity: { type: 'string', value: 'FILE', doc: 'The age identity that opens an encrypted backup.' },
      key: { type: 'string', value: 'KEYFILE', doc: 'The key file of the backup; default: the one beside it, or else the current one.' },
      force: { type: 'boolean', doc: 'Restores over existing data, which is kept.' },
    },
    doc:
      'Restores a backup into the data directory: from a file, a directory or s3://bucket/prefix; default: backup.target. Stop the ' +
      'server first. The mail that was queued when the backup was made may have been sent since: it is held until sterna queue release ' +
      '--restored. New mail is sent as usual.',
  },
  {
    name: 'compact',
    needs: 'any data',
    args: [],
    options: {},
    doc:
      'Rewrites the database so that its file contains no deleted data, and returns free space. Stop the server first. A database ' +
      'from before the first release needs this once. It first says how long it takes and how much disk it needs, and refuses if there ' +
      'is less.',
  },
]
