import { copyFile } from 'node:fs/promises'
import { hasKey, readKeyFile } from '../../senders/account/key-file.ts'
import { knownFingerprint } from '../../senders/account/sealed-secrets.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Database } from '../../platform/store/database.ts'

/**
 * Copies the key file if it belongs to the database; any other would be useless.
 * @throws SternaError `invalid_state` if it does not
 */
export async function copyKeyFile(path: string, copy: string, db: Pick<Database, 'read'>): Promise<void> {
  const known = await knownFingerprint(db)
  if (known !== null && !hasKey(readKeyFile(path), known)) {
    throw new SternaError('invalid_state', `${path} is not the key file of this database. Restore the right one first.`)
  }
  await copyFile(path, copy)
}
