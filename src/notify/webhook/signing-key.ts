import { createPrivateKey, createPublicKey, generateKeyPair, sign, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { PayloadKind } from './payload-kind.ts'

/** A key whose public half receivers use to verify. */
export interface SigningKey {
  type: KeyType
  privateKey: KeyObject
  /** PKCS 8, DER. */
  sealable: Uint8Array
  /** SubjectPublicKeyInfo, DER in base64, as those services show it: a PEM file without its first and last lines. */
  publicKey: string
}

type KeyType = 'ec' | 'rsa'

/** SendGrid signs with P-256, Postal with RSA. The others need no such key. */
const keyTypes: Partial<Record<PayloadKind, KeyType>> = { sendgrid: 'ec', postal: 'rsa' }

const generate = promisify(generateKeyPair)

/** A new key, if the payload needs one. Keys are created and used on threads of Node's pool. */
export async function newSigningKey(payload: PayloadKind): Promise<SigningKey | null> {
  const type = keyTypes[payload]
  if (type === undefined) return null
  const { privateKey } = type === 'ec' ? await generate('ec', { namedCurve: 'prime256v1' }) : await generate('rsa', { modulusLength: 2048 })
  return keyOf(type, privateKey)
}

/** The key that the payload needs: the existing one or a new one. */
export const signingKeyFor = (payload: PayloadKind, key: SigningKey | null): Promise<SigningKey | null> =>
  key !== null && key.type === keyTypes[payload] ? Promise.resolve(key) : newSigningKey(payload)

/** @param sealable as in `SigningKey` */
export function openSigningKey(sealable: Uint8Array): SigningKey {
  const privateKey = createPrivateKey({ key: Buffer.from(sealable), format: 'der', type: 'pkcs8' })
  return keyOf(privateKey.asymmetricKeyType === 'ec' ? 'ec' : 'rsa', privateKey)
}

const keyOf = (type: KeyType, privateKey: KeyObject): SigningKey => ({
  type,
  privateKey,
  sealable: privateKey.export({ format: 'der', type: 'pkcs8' }),
  publicKey: createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).toString('base64'),
})

/** Base64; ECDSA signatures in DER, RSA ones with PKCS 1 v1.5 padding. */
export const keySignature = (hash: 'sha1' | 'sha256', data: Uint8Array, { privateKey }: SigningKey): Promise<string> =>
  new Promise((resolve, reject) => {
    sign(hash, data, privateKey, (error, signature) => (error ? reject(error) : resolve(signature.toString('base64'))))
  })
