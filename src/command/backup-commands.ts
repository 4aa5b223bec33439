import { chmod, copyFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { SternaError } from '../errors.ts'
import { argument, flagOption } from './command.ts'
import type { Command } from './command.ts'

/** Where a backup keeps the key file, if it was asked to. */
export const keyFileBeside = (backupFile: string): string => `${backupFile}.key`

export const backupCommands: Command[] = [
  {
    name: 'backup',
    args: ['FILE'],
    options: {
      'with-key': { type: 'boolean', doc: 'Also copies the key file, as FILE.key. Whoever has both can read every secret.' },
    },
    doc: 'Copies the database, as it is at this moment, into a new file while the server goes on.',
    async run(input, { db, config }) {
      const file = resolve(input.cwd, argument(input, 0))
      const keyCopy = flagOption(input, 'with-key') ? keyFileBeside(file) : null
      for (const target of keyCopy === null ? [file] : [file, keyCopy]) {
        if (existsSync(target)) throw new SternaError('invalid_state', `${target} exists already; name a new file.`)
      }
      await db.backup(file)
      await chmod(file, 0o600)
      if (keyCopy === null) {
        const remark = `Without ${config.secretKeyFile} it cannot be restored: keep a copy of that file apart.\n`
        return { stdout: `${file}\n`, stderr: remark }
      }
      await copyFile(config.secretKeyFile, keyCopy)
      await chmod(keyCopy, 0o600)
      return { stdout: `${file}\n${keyCopy}\n` }
    },
  },
  {
    name: 'restore',
    args: ['FILE'],
    options: {
      key: { type: 'string', value: 'KEYFILE', doc: 'The key file of the backup; default: FILE.key, else the one in place.' },
      force: { type: 'boolean', doc: 'Restores although there is data; that is kept beside, renamed.' },
    },
    doc: 'Puts a backup into the data directory. No server may be running on it.',
  },
]
