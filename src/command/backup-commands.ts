import { copyFile, open, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fingerprintOf, readKeyFile } from '../account/key-file.ts'
import { knownFingerprint } from '../account/sealed-secrets.ts'
import { messageOf, SternaError } from '../errors.ts'
import type { Database } from '../store/database.ts'
import { argument, flagOption, type Command } from './command.ts'

/** Where a backup keeps the key file, if it was asked to. */
export const keyFileBeside = (backupFile: string): string => `${backupFile}.key`

/** Makes an empty file that nobody else may read, also while it is being filled. */
async function makeFile(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new SternaError('invalid_state', `${path} exists already; name a new file.`)
    }
    const message = `The backup cannot be written (${messageOf(error)}). Name a file where the server's user may write.`
    throw new SternaError('invalid_state', message, { cause: error })
  }
}

/**
 * Puts into a file what `write` writes aside, once it is on disk. Half a backup must not look like one, even where this is killed:
 * until then the file is empty.
 */
async function fill(file: string, write: (part: string) => Promise<unknown>): Promise<void> {
  const part = `${file}.part`
  // Of a backup to this name that was killed.
  for (const left of [part, `${part}-journal`]) await rm(left, { force: true })
  try {
    await makeFile(part)
    await write(part)
    await flush(part, 'r+')
    await rename(part, file)
    // Windows knows no fsync of a directory.
    if (process.platform !== 'win32') await flush(dirname(file), 'r')
  } finally {
    await rm(part, { force: true })
  }
}

/** Copies the key file where it is the one that the database belongs to: another one would be of no use. */
async function copyKey(path: string, copy: string, db: Database): Promise<void> {
  const known = await knownFingerprint(db)
  if (known !== null && fingerprintOf(readKeyFile(path)) !== known) {
    throw new SternaError('invalid_state', `${path} is not the key file that the database was made with. Bring that one back first.`)
  }
  await copyFile(path, copy)
}

/** Not `flushFile`: a large file takes longer than the thread of a server may be held up. */
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
      'with-key': { type: 'boolean', doc: 'Also copies the key file, as FILE.key. Whoever has both can read every secret.' },
    },
    doc: 'Copies the database, as it is at this moment, into a new file while the server goes on.',
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
      const remark = `Without ${config.secretKeyFile} it cannot be restored: keep a copy of that file apart.\n`
      return { stdout: `${made.join('\n')}\n`, stderr: keyCopy === null ? remark : '' }
    },
  },
  {
    name: 'restore',
    args: ['FILE'],
    options: {
      key: { type: 'string', value: 'KEYFILE', doc: 'The key file of the backup; default: FILE.key, else the one in place.' },
      force: { type: 'boolean', doc: 'Restores although there is data; that is kept beside.' },
    },
    doc:
      'Puts a backup into the data directory. No server may be running on it. Mail that waited when the backup was made is ' +
      'sent at the next start, though it may have been sent since.',
  },
  {
    name: 'compact',
    args: [],
    options: {},
    doc:
      'Rewrites the database so that its file holds nothing of what was deleted, and gives free room back. No server may be running ' +
      'on it. Needed once for a database of a version before 0.2. Says first how long it takes and how much room, and refuses ' +
      'where the disk has less.',
  },
]
