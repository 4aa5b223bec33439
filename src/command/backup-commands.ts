import { copyFile, open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fingerprintOf, readKeyFile } from '../account/key-file.ts'
import { knownFingerprint } from '../account/sealed-secrets.ts'
import { messageOf, SternaError } from '../errors.ts'
import type { Database } from '../store/database.ts'
import { argument, flagOption, type Command } from './command.ts'

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
    const message = `The backup cannot be written (${messageOf(error)}). Name a file where the server's user may write.`
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
  for (const left of [part, `${part}-journal`]) await rm(left, { force: true })
  try {
    await makeFile(part)
    await write(part)
    await flush(part, 'r+')
    await rename(part, file)
    // Windows has no fsync for directories.
    if (process.platform !== 'win32') await flush(dirname(file), 'r')
  } finally {
    await rm(part, { force: true })
  }
}

/** Copies the key file if it belongs to the database; any other would be useless. */
async function copyKey(path: string, copy: string, db: Database): Promise<void> {
  const known = await knownFingerprint(db)
  if (known !== null && fingerprintOf(readKeyFile(path)) !== known) {
    throw new SternaError('invalid_state', `${path} is not the key file of this database. Restore the right one first.`)
  }
  await copyFile(path, copy)
}

/** Not `flushFile`: a large file would hold up a server's thread for too long. */
async function flush(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export const backupCommands: Command[] = [
  {
    name: 'backup',
    reads: true,
    args: ['FILE'],
    options: {
      'with-key': { type: 'boolean', doc: 'Also copies the key file, as FILE.key. Anyone who has both can read every secret.' },
    },
    doc: 'Copies the database, as it is now, into a new file while the server runs.',
    async run(input, { db, config }) {
      const file = resolve(input.cwd, argument(input, 0))
      const keyCopy = flagOption(input, 'with-key') ? keyFileBeside(file) : null
      const made: string[] = []
      try {
        for (const target of keyCopy === null ? [file] : [file, keyCopy]) {
          await makeFile(target)
          made.push(target)
        }
        await fill(file, (part) => db.backup(part))
        if (keyCopy !== null) await fill(keyCopy, (part) => copyKey(config.secretKeyFile, part, db))
      } catch (error) {
        for (const target of made) await rm(target, { force: true })
        throw error
      }
      const remark = `It cannot be restored without ${config.secretKeyFile}. Keep a copy of that file in another place.\n`
      return { stdout: `${made.join('\n')}\n`, json: { object: 'backup', file, key_file: keyCopy }, stderr: keyCopy === null ? remark : '' }
    },
  },
  {
    name: 'restore',
    args: ['FILE'],
    options: {
      key: { type: 'string', value: 'KEYFILE', doc: 'The key file of the backup; default: FILE.key, or else the current one.' },
      force: { type: 'boolean', doc: 'Restores over existing data, which is kept.' },
    },
    doc:
      'Restores a backup into the data directory. Stop the server first. The mail that was queued when the backup was made may have ' +
      'been sent since: it is held until sterna queue release --restored. New mail is sent as usual.',
  },
  {
    name: 'compact',
    args: [],
    options: {},
    doc:
      'Rewrites the database so that its file contains no deleted data, and returns free space. Stop the server first. A database ' +
      'from a version before 0.2 needs this once. It first says how long it takes and how much disk it needs, and refuses if there ' +
      'is less.',
  },
]
