import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { SternaError } from '../../platform/errors.ts'

export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256'

export interface DkimKeyPair {
  algorithm: DkimAlgorithm
  /** The value of p= in the key's DNS record (RFC 6376 3.6.1, RFC 8463 4). */
  publicKey: string
  /** PKCS #8, DER. */
  privateKey: Uint8Array
}

const generate = promisify(generateKeyPair)

/** Everybody can verify 2048 bits; longer keys slow down every message, and their records are large. */
const [smallestBits, maxBitsBytes] = [2048, 4096]

/** What `generateDomainKeys` does. */
export type GenerateDomainKeys = (own?: DkimKeyPair) => Promise<DkimKeyPair[]>

/** RSA with 2048 bits, which everybody can verify, and Ed25519; `own` replaces one of them. Made on the thread pool. */
export async function generateDomainKeys(own?: DkimKeyPair): Promise<DkimKeyPair[]> {
  return Promise.all([
    own?.algorithm === 'rsa-sha256'
      ? own
      : generate('rsa', { modulusLength: smallestBits }).then(({ privateKey }) => keyPairOf(privateKey)),
    own?.algorithm === 'ed25519-sha256' ? own : generate('ed25519').then(({ privateKey }) => keyPairOf(privateKey)),
  ])
}

/**
 * A key pair that the owner brings along.
 * @param pem a private key without a passphrase: RSA with 2048 to 4096 bits (RFC 8301), or Ed25519
 * @throws SternaError `validation_error`, which reveals nothing about the key
 */
export function parseOwnKey(pem: string): DkimKeyPair {
  const key = privateKeyIn(pem)
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  const isLongEnough = bits >= smallestBits && bits <= maxBitsBytes
  if (key.asymmetricKeyType === 'ed25519' || (key.asymmetricKeyType === 'rsa' && isLongEnough)) return keyPairOf(key)
  throw invalid(
    key.asymmetricKeyType === 'rsa'
      ? `is an RSA key of ${bits} bits; use one with ${smallestBits} to ${maxBitsBytes}`
      : 'is neither an RSA key nor an Ed25519 key',
  )
}

function privateKeyIn(pem: string): KeyObject {
  try {
    return createPrivateKey({ key: pem, format: 'pem' })
  } catch {
    // The library's message may quote the input.
    throw invalid('is not a private key in PEM without a passphrase')
  }
}

function keyPairOf(key: KeyObject): DkimKeyPair {
  const isRsa = key.asymmetricKeyType === 'rsa'
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' })
  return {
    algorithm: isRsa ? 'rsa-sha256' : 'ed25519-sha256',
    // RFC 8463 publishes the bare 32 bytes, which end the SPKI form.
    publicKey: (isRsa ? spki : spki.subarray(-32)).toString('base64'),
    privateKey: key.export({ type: 'pkcs8', format: 'der' }),
  }
}

function invalid(fault: string): SternaError {
  const message = `The \`dkim_private_key\` field ${fault}.`
  return new SternaError('validation_error', message, {
    faults: [{ field: 'dkim_private_key', code: 'invalid_key', message, help: null }],
  })
}
