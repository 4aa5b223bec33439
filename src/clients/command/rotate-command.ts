import { addGeneration, fingerprintOf, hasKey, readKeyFile } from '../../senders/account/key-file.ts'
import { knownFingerprint } from '../../senders/account/sealed-secrets.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Command } from './command.ts'

export const rotateCommands: Command[] = [
  {
    name: 'rotate secret-key',
    args: [],
    options: {},
    doc:
      'Adds a new root key to the secret key file. The next start seals all stored secrets with it, and signs with it from then on. The ' +
      'earlier keys stay in the file: links in mail that was sent, its bounces, and erased addresses on suppression lists need them.',
    async run(_input, { config: { secretKeyFile: path }, db }) {
      requireCurrent(path, await knownFingerprint(db))
      addGeneration(path)
      const keys = readKeyFile(path).generations.length
      return {
        stdout: `${path}\n`,
        json: { object: 'secret_key_rotation', file: path, keys },
        stderr:
          `The file has ${keys} keys now. Restart the server, if one runs, to use the new one. Then copy the file to where you keep it: ` +
          'backups from after the restart need the new key. Never remove a line.\n',
      }
    },
  },
]

/** @throws SternaError `invalid_state` unless the stored secrets are sealed with the newest key of the file */
function requireCurrent(path: string, known: string | null): void {
  const secrets = readKeyFile(path)
  if (known === fingerprintOf(secrets)) return
  if (known !== null && hasKey(secrets, known)) {
    throw new SternaError('invalid_state', `${path} has a new key already, which is used from the next start on. Restart the server.`)
  }
  throw new SternaError('invalid_state', `${path} does not open all stored secrets of this database. sterna doctor says more.`)
}
