import { existsSync } from 'node:fs'
import { fingerprintOf, openKeyFile, readKeyFile, type Secrets } from './key-file.ts'
import { adoptStagedKey } from './key-switch.ts'
import { knownFingerprint, noteFingerprint, tryToOpen } from './sealed-secrets.ts'
import type { Config } from '../config/settings.ts'
import { SternaError } from '../errors.ts'
import type { Health } from '../health.ts'
import type { Database } from '../store/database.ts'

/**
 * Opens the key file that the database belongs to, and makes one for a database that has never had a secret. A database from before
 * its key was noted gets that done once all of its secrets open.
 * @throws SternaError `configuration` where the key file is missing or another one; nothing was changed
 */
export async function openSecrets(db: Database, health: Health, config: Config): Promise<Secrets> {
  const path = config.secretKeyFile
  const known = await knownFingerprint(db)
  if (known !== null) return knownSecrets(known, config)
  if (!existsSync(path) && (await tryToOpen(db, null)).shut > 0) throw missing(config)
  const secrets = openKeyFile(path)
  const { opened, shut } = await tryToOpen(db, secrets)
  if (shut > 0 && opened === 0) throw foreign(config)
  if (shut > 0) health.report('sealed_secrets', { opened, shut })
  else await db.write([noteFingerprint(fingerprintOf(secrets))])
  return secrets
}

function knownSecrets(fingerprint: string, config: Config): Secrets {
  const path = config.secretKeyFile
  const isRight = (): boolean => existsSync(path) && fingerprintOf(readKeyFile(path)) === fingerprint
  // A restore that was cut off between the database and its key.
  if (!isRight()) adoptStagedKey(path, fingerprint)
  if (!existsSync(path)) throw missing(config)
  const secrets = readKeyFile(path)
  if (fingerprintOf(secrets) !== fingerprint) throw foreign(config)
  return secrets
}

const missing = (config: Config): SternaError => refusal(`The secret key file ${config.secretKeyFile} is missing.`, config)

const foreign = (config: Config): SternaError =>
  refusal(`The secret key file ${config.secretKeyFile} is not the one that the database was made with.`, config)

const refusal = (what: string, { dataDir, secretKeyFile }: Config): SternaError =>
  new SternaError(
    'configuration',
    `${what} Without that key no mail can be signed, and no webhook; no new one was made. ` +
      `Bring the file back to ${secretKeyFile}, or name its place with secret_key_file (STERNA_SECRET_KEY_FILE); ` +
      'a backup made --with-key has a copy beside it, FILE.key. ' +
      `To begin anew, without the accounts and the mail that are there, move everything out of ${dataDir}.`,
  )
