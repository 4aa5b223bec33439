import { existsSync } from 'node:fs'
import { fingerprintOf, hasKey, openKeyFile, readKeyFile, type KeyFile } from './key-file.ts'
import { KeyRing } from './key-ring.ts'
import { adoptStagedKey } from './key-switch.ts'
import { keyChange, knownFingerprint, noteFingerprint, tryToOpen } from './sealed-secrets.ts'
import type { Config } from '../../platform/config/settings.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Changes } from '../../platform/store/changes.ts'
import type { Health } from '../../platform/health.ts'
import type { Database } from '../../platform/store/database.ts'

/**
 * Opens the key file of the database, or creates one for a database that has never held a secret. An older database that does not name its
 * key yet gets that note once all of its secrets open. A newer key than the one that it names is used once all nodes have it (`SecretKeyRotation`).
 * @throws SternaError `configuration` if the key file is missing or a different one; nothing was changed
 */
export async function openSecrets(db: Database, health: Health, config: Config): Promise<KeyRing> {
  const path = config.secretKeyFile
  const known = await knownFingerprint(db)
  if (known !== null) return new KeyRing(knownSecrets(known, config), known)
  if (!existsSync(path) && (await tryToOpen(db, null)).shut > 0) throw missing(config)
  const secrets = openKeyFile(path)
  const { opened, shut } = await tryToOpen(db, secrets)
  if (shut > 0 && opened === 0) throw foreign(config)
  if (shut > 0) {
    health.report('sealed_secrets', { opened, shut })
    return new KeyRing(secrets, null)
  }
  const [noted] = await db.write([noteFingerprint(fingerprintOf(secrets))])
  // Of nodes that start at once on a new database, the first says which key it has.
  return noted?.changes === 1 ? new KeyRing(secrets, null) : openSecrets(db, health, config)
}

/**
 * Seals and signs with the key that the database names, also when another node changes that. Reading the changes fails if this process lacks
 * the key, which keeps it from becoming a node.
 */
export function followKey(
  secrets: KeyRing,
  { db, changes, config }: { db: Database; changes: Pick<Changes, 'on'>; config: KeyPlace },
): void {
  const load = async (): Promise<void> => {
    const known = await knownFingerprint(db)
    if (known !== null && !secrets.use(known)) throw foreign(config)
  }
  changes.on(keyChange, { load, reload: load })
}

/** @throws SternaError `configuration` if the key file is missing, or does not have the key with this fingerprint */
export const requireKeyFile = (fingerprint: string, config: KeyPlace): void => void knownSecrets(fingerprint, config)

type KeyPlace = Pick<Config, 'dataDir' | 'secretKeyFile'>

function knownSecrets(fingerprint: string, config: KeyPlace): KeyFile {
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

/** For a key file that lacks the key in use. */
const foreign = (config: KeyPlace): SternaError =>
  refusal(
    `The secret key file ${config.secretKeyFile} is not the one that this database was created with, or is from before the last ` +
      '"sterna rotate secret-key": then copy that of a node that runs.',
    config,
  )

const refusal = (what: string, { dataDir, secretKeyFile }: KeyPlace): SternaError =>
  new SternaError(
    'configuration',
    `${what} Without that key Sterna cannot sign mail or webhooks, and it did not create a new one. Put the file back at ` +
      `${secretKeyFile}, or set secret_key_file (STERNA_SECRET_KEY_FILE) to its path; a backup made with --with-key has a copy next ` +
      `to it, FILE.key. To start over without the existing accounts and mail, move everything out of ${dataDir}.`,
  )
