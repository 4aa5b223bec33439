import { copyFile, open, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { messageOf, SternaError } from '../errors.ts'
import { argument, flagOption } from './command.ts'
import type { Command } from './command.ts'

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
        await db.backup(file)
        if (keyCopy !== null) await copyFile(config.secretKeyFile, keyCopy)
      } catch (error) {
        // Half a backup must not look like one.
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
      force: { type: 'boolean', doc: 'Restores although there is data; that is kept beside, renamed.' },
    },
    doc:
      'Puts a backup into the data directory. No server may be running on it. Mail that waited when the backup was made is ' +
      'sent at the next start, though it may have been sent since.',
  },
]
