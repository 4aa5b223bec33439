import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** What may be wrong with the answer of an authenticator. */
interface Flaws {
  origin?: string
  rpId?: string
  /** False: nobody proved who they are to the device. */
  isVerified?: boolean
  counter?: number
  challenge?: string
  type?: string
  /** True: signed by another key. */
  isForged?: boolean
}

/** A device with one passkey, as software: ES256, no attestation (WebAuthn 6). */
export interface Authenticator {
  credentialId: string
  /** Answers creation options, as a browser at `origin` passes them on. */
  create(options: any, flaws?: Flaws): Record<string, unknown>
  /** Answers request options. */
  get(options: any, flaws?: Flaws): Record<string, unknown>
}

export function authenticator(origin: string): Authenticator {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const id = randomBytes(16)
  let counter = 0
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const [xBytes, yBytes] = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]
  // {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y} in CBOR
  const coseKey = Buffer.concat([Buffer.from('a5010203262001215820', 'hex'), xBytes, Buffer.from('225820', 'hex'), yBytes])

  const clientData = (type: string, options: any, flaws: Flaws): Buffer =>
    Buffer.from(
      JSON.stringify({ type: flaws.type ?? type, challenge: flaws.challenge ?? options.challenge, origin: flaws.origin ?? origin }),
    )
  const authenticatorData = (rpId: string, flaws: Flaws, attested?: Buffer): Buffer => {
    const head = Buffer.alloc(5)
    head[0] = 0x01 | (flaws.isVerified === false ? 0 : 0x04) | (attested ? 0x40 : 0)
    head.writeUInt32BE(flaws.counter ?? ++counter, 1)
    const hash = createHash('sha256')
      .update(flaws.rpId ?? rpId)
      .digest()
    return Buffer.concat([hash, head, attested ?? Buffer.alloc(0)])
  }
  const credential = (response: Record<string, Buffer>): Record<string, unknown> => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    clientExtensionResults: {},
    response: Object.fromEntries(Object.entries(response).map(([name, bytes]) => [name, bytes.toString('base64url')])),
  })
  return {
    credentialId: id.toString('base64url'),
    create(options, flaws = {}) {
      // A GUID of zeros, the length of the id, the id, and the key.
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, coseKey])
      const data = authenticatorData(options.rp.id, flaws, attested)
      // {"fmt": "none", "attStmt": {}, "authData": bytes}
      const head = Buffer.concat([
        Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex'),
        Buffer.from([0x58, data.length]),
      ])
      return credential({ clientDataJSON: clientData('webauthn.create', options, flaws), attestationObject: Buffer.concat([head, data]) })
    },
    get(options, flaws = {}) {
      const client = clientData('webauthn.get', options, flaws)
      const data = authenticatorData(options.rpId, flaws)
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()])
      const signature = sign('sha256', signed, flaws.isForged ? other : privateKey)
      return credential({ clientDataJSON: client, authenticatorData: data, signature })
    },
  }
}
