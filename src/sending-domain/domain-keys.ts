import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'

export type DkimAlgorithm = 'rsa-sha256' | 'ed25519-sha256'

interface DkimKeyPair {
  algorithm: DkimAlgorithm
  /** What p= of the key's DNS record holds (RFC 6376 3.6.1, RFC 8463 4). */
  publicKey: string
  /** PKCS #8, DER. */
  privateKey: Buffer
}

const generate = promisify(generateKeyPair)
const publicKeyEncoding = { type: 'spki', format: 'der' } as const
const privateKeyEncoding = { type: 'pkcs8', format: 'der' } as const

/** A new domain's keys: RSA with 2048 bits, which everybody can verify, and Ed25519. Made on the thread pool. */
export async function generateDomainKeys(): Promise<DkimKeyPair[]> {
  const [rsa, ed25519] = await Promise.all([
    generate('rsa', { modulusLength: 2048, publicKeyEncoding, privateKeyEncoding }),
    generate('ed25519', { publicKeyEncoding, privateKeyEncoding }),
  ])
  // RFC 8463 publishes the bare 32 bytes, which are the end of the SPKI form.
  const bare = ed25519.publicKey.subarray(-32)
  return [
    { algorithm: 'rsa-sha256', publicKey: rsa.publicKey.toString('base64'), privateKey: rsa.privateKey },
    { algorithm: 'ed25519-sha256', publicKey: bare.toString('base64'), privateKey: ed25519.privateKey },
  ]
}
