import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { closeSync, existsSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { createFile, replaceFile } from '../../platform/durable-file.ts'
import { SternaError } from '../../platform/errors.ts'
import { readByAny, type DeriveKey } from '../../platform/key-generations.ts'
import { reasonOf } from '../../platform/plain-reason.ts'

/**
 * What the key file is for: encrypting stored secrets, and deriving keys for our own signatures. It holds the root key
 * of each generation, newest first. One of them seals and signs: the newest, as far as nothing else is said (`KeyRing`).
 */
export interface Secrets {
  /**
   * Encrypts with AES-256-GCM under a new random nonce.
   * @param context what the secret belongs to, such as `dkim_key dk_…`; it can be decrypted only with the same context
   */
  seal(plain: Uint8Array, context: string): Uint8Array
  /** @throws SternaError `configuration` if it was sealed with another key file or context, or was changed */
  open(sealed: Uint8Array, context: string): Uint8Array
  /** Whether the key that seals opens it: no earlier one is needed. */
  isCurrent(sealed: Uint8Array, context: string): boolean
  /** 32 bytes (HKDF-SHA256) that are always the same for the root key that signs and this purpose. */
  deriveKey(purpose: string): Buffer
  /** The same for each root key, first that which signs: what another one has made is valid as well. */
  readonly generations: readonly [DeriveKey, ...DeriveKey[]]
}

/** What is in a key file. */
export interface KeyFile extends Secrets {
  /** The same keys, but that with this fingerprint seals and signs; null if there is none. */
  usedWith(fingerprint: string): Secrets | null
}

const rootBytes = 32
const nonceBytes = 12
const tagBytes = 16
const sealVersion = 1

/**
 * Opens the file with the installation's root key. Creates it (mode 0600) if there is none; it is then completely on disk before
 * anything is sealed with it.
 * @throws SternaError `configuration` if it cannot be read or created, if others may read it, or if it holds no key
 */
export function openKeyFile(path: string): KeyFile {
  try {
    if (!existsSync(path)) createFile(path, lineOf(randomBytes(rootBytes)))
  } catch (error) {
    throw unusable(path, error)
  }
  return readKeyFile(path)
}

/**
 * Opens the key file.
 * @throws SternaError `configuration` if it cannot be read, others may read it, or it holds no key
 */
export function readKeyFile(path: string): KeyFile {
  try {
    return secretsFrom(...readRoots(path))
  } catch (error) {
    throw error instanceof SternaError ? error : unusable(path, error)
  }
}

const unusable = (path: string, error: unknown): SternaError =>
  new SternaError('configuration', `The secret key file ${path} cannot be used: ${reasonOf(error)}.`, { cause: error })

const lineOf = (root: Buffer): string => `${root.toString('base64')}\n`

/**
 * Adds a new root key to the file, before the earlier ones, in one step.
 * @throws SternaError `configuration` if the file cannot be read or replaced
 */
export function addGeneration(path: string): void {
  try {
    replaceFile(path, [randomBytes(rootBytes), ...readRoots(path)].map(lineOf).join(''))
  } catch (error) {
    throw error instanceof SternaError ? error : unusable(path, error)
  }
}

/** Identifies the root key that signs. It is derived from the key, like every other purpose, and reveals nothing about it. */
export const fingerprintOf = (secrets: Pick<Secrets, 'deriveKey'>): string => secrets.deriveKey('fingerprint').toString('hex')

/** Whether one of the root keys is the one with this fingerprint. */
export const hasKey = ({ generations }: Pick<Secrets, 'generations'>, fingerprint: string): boolean =>
  generations.some((deriveKey) => fingerprintOf({ deriveKey }) === fingerprint)

/** @param roots 32 random bytes each, newest first */
export function secretsFrom(...roots: [Uint8Array, ...Uint8Array[]]): KeyFile {
  const all = roots.map(secretsOf) as [SecretsOf, ...SecretsOf[]]
  const usedWith = (fingerprint: string): Secrets | null => {
    const used = all.find((each) => fingerprintOf(each) === fingerprint)
    return used ? secretsBy(used, ...all.filter((each) => each !== used)) : null
  }
  return { ...secretsBy(...all), usedWith }
}

/** The first seals and signs. */
function secretsBy(...all: [SecretsOf, ...SecretsOf[]]): Secrets {
  const [used] = all
  return {
    deriveKey: used.deriveKey,
    generations: all.map(({ deriveKey }) => deriveKey) as [DeriveKey, ...DeriveKey[]],
    seal: used.seal,
    isCurrent: (sealed, context) => used.open(sealed, context) !== null,
    open(sealed, context) {
      const opened = readByAny(all, (each) => each.open(sealed, context))
      if (opened) return opened
      throw new SternaError(
        'configuration',
        `A stored secret (${context}) cannot be decrypted with this secret key file. Restore the one that the database was created with.`,
      )
    },
  }
}

/** Of one root key. */
interface SecretsOf extends Pick<Secrets, 'seal' | 'deriveKey'> {
  /** Null if it was sealed with another key or context, or was changed. */
  open(sealed: Uint8Array, context: string): Uint8Array | null
}

function secretsOf(root: Uint8Array): SecretsOf {
  const deriveKey = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', root, '', `sterna ${purpose}`, 32))
  const sealKey = deriveKey('seal')

  return {
    deriveKey,
    seal(plain, context) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', sealKey, nonce).setAAD(Buffer.from(context))
      return Buffer.concat([Buffer.from([sealVersion]), nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    },
    open(sealed, context) {
      if (sealed[0] !== sealVersion) return null
      try {
        const nonce = sealed.subarray(1, 1 + nonceBytes)
        const decipher = createDecipheriv('aes-256-gcm', sealKey, nonce, { authTagLength: tagBytes })
          .setAAD(Buffer.from(context))
          .setAuthTag(sealed.subarray(-tagBytes))
        return Buffer.concat([decipher.update(sealed.subarray(1 + nonceBytes, -tagBytes)), decipher.final()])
      } catch {
        return null
      }
    },
  }
}

function readRoots(path: string): [Buffer, ...Buffer[]] {
  const file = openSync(path, 'r')
  try {
    if (process.platform !== 'win32' && (fstatSync(file).mode & 0o077) !== 0) {
      throw new SternaError('configuration', `Other users of this machine can read the secret key file. Run: chmod 600 ${path}`)
    }
    const text = readFileSync(file, 'latin1')
    const [newest, ...earlier] = text
      .replace(/\r?\n$/, '')
      .split(/\r?\n/)
      .map((line) => (/^[A-Za-z0-9+/]{43}=$/.test(line) ? Buffer.from(line, 'base64') : null))
    if (newest && earlier.every((root) => root !== null)) return [newest, ...earlier]
    throw new SternaError(
      'configuration',
      `The secret key file ${path} does not hold 32 bytes in base64, or several lines of them. Restore it from a backup; remove it only if this database has ` +
        'never held a secret.',
    )
  } finally {
    closeSync(file)
  }
}
