import { addGeneration, fingerprintOf, hasKey, readKeyFile } from '../../senders/account/key-file.ts'
import { knownFingerprint } from '../../senders/account/sealed-secrets.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Database } from '../../platform/store/database.ts'
import { nodesWithout } from '../../platform/store/node-rows.ts'
import type { Command } from './command.ts'

export const rotateCommands: Command[] = [
  {
    name: 'rotate secret-key',
    args: [],
    options: {},
    doc:
      'Adds a new root key to the secret key file. Servers that run read it by themselves. Once every node has it, it seals and signs, and ' +
      'all stored secrets are sealed with it: copy the file to the other nodes, if there are any. The earlier keys stay in the file: ' +
      'links in mail that was sent, its bounces, and erased addresses on suppression lists need them.',
    async run(_input, { config: { secretKeyFile: path }, db, hasNodes }) {
      requireCurrent(path, await knownFingerprint(db))
      await requireNewest(path, db)
      addGeneration(path)
      const keys = readKeyFile(path).generations.length
      const next = (await hasNodes())
        ? 'Copy the file to the other nodes: the new key is used once all have it. sterna node list says which do not.'
        : 'A server that runs uses the new key within a few seconds, one that is off from its next start.'
      return {
        stdout: `${path}\n`,
        json: { object: 'secret_key_rotation', file: path, keys },
        stderr: `The file has ${keys} keys now. ${next} Then copy it to where you keep it: later backups need the new key. Never remove a line.\n`,
      }
    },
  },
]

/** @throws SternaError `invalid_state` unless the stored secrets are sealed with the newest key of the file */
function requireCurrent(path: string, known: string | null): void {
  const secrets = readKeyFile(path)
  if (known === fingerprintOf(secrets)) return
  if (known !== null && hasKey(secrets, known)) {
    throw new SternaError(
      'invalid_state',
      `${path} has a new key already, which is not in use yet. It is used once all nodes have it, and sterna node list says which do not. ` +
        'If no server runs, start it.',
    )
  }
  throw new SternaError('invalid_state', `${path} does not open all stored secrets of this database. sterna doctor says more.`)
}

/** @throws SternaError `invalid_state` if a node has a newer key than the file: of two new keys, none would be in the files of all nodes */
async function requireNewest(path: string, db: Pick<Database, 'read'>): Promise<void> {
  const others = await nodesWithout(db, fingerprintOf(readKeyFile(path)))
  const other = others.find(({ newestKey }) => newestKey !== null)
  if (!other) return
  throw new SternaError(
    'invalid_state',
    `The node ${other.name} on ${other.machine} has a new key already, which ${path} lacks. Copy the key file of that node to ${path}: ` +
      'the key is used once all nodes have it. Or put the earlier file back there, wait a few seconds, and rotate again.',
  )
}
