import { existsSync } from 'node:fs'
import { fingerprintOf, hasKey, openKeyFile, readKeyFile, type Secrets } from './key-file.ts'
import { adoptStagedKey } from './key-switch.ts'
import { knownFingerprint, noteFingerprint, sealAnew, tryToOpen } from './sealed-secrets.ts'
import type { Config } from '../../platform/config/settings.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Health } from '../../platform/health.ts'
import type { Database } from '../../platform/store/database.ts'

/**
 * Opens the key file of the database, or creates one for a database that has never held a secret. An older database that does not name its
 * key yet gets that note once all of its secrets open. If the key file has a newer key than the one that the secrets are sealed with, they
 * are sealed anew.
 * @throws SternaError `configuration` if the key file is missing or a different one; nothing was changed
 */
export async function openSecrets(db: Database, health: Health, config: Config): Promise<Secrets> {
  const path = config.secretKeyFile
  const known = await knownFingerprint(db)
  if (known !== null) {
    const secrets = knownSecrets(known, config)
    if (fingerprintOf(secrets) !== known) await sealAnew(db, secrets)
    return secrets
  }
  if (!existsSync(path) && (await tryToOpen(db, null)).shut > 0) throw missing(config)
  const secrets = openKeyFile(path)
  const { opened, shut } = await tryToOpen(db, secrets)
  if (shut > 0 && opened === 0) throw foreign(config)
  if (shut > 0) {
    health.report('sealed_secrets', { opened, shut })
    return secrets
  }
  const [noted] = await db.write([noteFingerprint(fingerprintOf(secrets))])
  // Of nodes that start at once on a new database, the first says which key it has.
  return noted?.changes === 1 ? secrets : openSecrets(db, health, config)
}

/** @throws SternaError `configuration` if the key file is missing, or does not have the key with this fingerprint */
export const requireKeyFile = (fingerprint: string, config: KeyPlace): void => void knownSecrets(fingerprint, config)

type KeyPlace = Pick<Config, 'dataDir' | 'secretKeyFile'>

function knownSecrets(fingerprint: string, config: KeyPlace): Secrets {
  const path = config.secretKeyFile
  const isRight = (): boolean => existsSync(path) && hasKey(readKeyFile(path), fingerprint)
  // A restore was interrupted between the database and its key.
  if (!isRight()) adoptStagedKey(path, fingerprint)
  if (!existsSync(path)) throw missing(config)
  const secrets = readKeyFile(path)
  if (!hasKey(secrets, fingerprint)) throw foreign(config)
  return secrets
}

const missing = (config: KeyPlace): SternaError => refusal(`The secret key file ${config.secretKeyFile} is missing.`, config)

const foreign = (config: KeyPlace): SternaError =>
  refusal(`The secret key file ${config.secretKeyFile} is not the one that this database was created with.`, config)

const refusal = (what: string, { dataDir, secretKeyFile }: KeyPlace): SternaError =>
  new SternaError(
    'configuration',
    `${what} Without that key Sterna cannot sign mail or webhooks, and it did not create a new one. Put the file back at ` +
      `${secretKeyFile}, or set secret_key_file (STERNA_SECRET_KEY_FILE) to its path; a backup made with --with-key has a copy next ` +
      `to it, FILE.key. To start over without the existing accounts and mail, move everything out of ${dataDir}.`,
  )
