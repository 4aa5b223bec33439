import { createHash, generateKeyPair, randomBytes, sign, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import * as der from './der.ts'

interface KeyPair {
  publicKey: KeyObject
  privateKey: KeyObject
}

const generate = promisify(generateKeyPair)

/** A new P-256 key, made off the main thread. */
export const newKeyPair = (): Promise<KeyPair> => generate('ec', { namedCurve: 'P-256' })

export const pemOf = ({ privateKey }: KeyPair): string => privateKey.export({ type: 'pkcs8', format: 'pem' }) as string

const ecdsaWithSha256 = der.sequence(der.identifier('1.2.840.10045.4.3.2'))
const alternativeName = (name: string): Buffer =>
  der.sequence(der.identifier('2.5.29.17'), der.octets(der.sequence(der.taggedText(2, name))))
const spkiOf = ({ publicKey }: KeyPair): Buffer => publicKey.export({ type: 'spki', format: 'der' })

/** Asks for a certificate for one name: a PKCS #10 request (RFC 2986), in DER. */
export function signingRequest(name: string, keys: KeyPair): Buffer {
  const extensions = der.sequence(der.identifier('1.2.840.113549.1.9.14'), der.set(der.sequence(alternativeName(name))))
  const noSubject = der.sequence()
  return signed(der.sequence(der.integer(Buffer.from([0])), noSubject, spkiOf(keys), der.tagged(0, extensions)), keys)
}

const hour = 3_600_000

/** The certificate that answers TLS-ALPN-01 for a name (RFC 8737 3), in PEM. */
export function challengeCertificate(name: string, keyAuthorization: string, { keys, now }: { keys: KeyPair; now: number }): string {
  const digest = createHash('sha256').update(keyAuthorization).digest()
  const acmeIdentifier = der.sequence(der.identifier('1.3.6.1.5.5.7.1.31'), der.yes, der.octets(der.octets(digest)))
  const subject = der.sequence(der.set(der.sequence(der.identifier('2.5.4.3'), der.utf8('TLS-ALPN-01'))))
  const content = der.sequence(
    der.tagged(0, der.integer(Buffer.from([2]))),
    der.integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ecdsaWithSha256,
    subject,
    der.sequence(der.utcTime(now - 24 * hour), der.utcTime(now + 24 * hour)),
    subject,
    spkiOf(keys),
    der.tagged(3, der.sequence(alternativeName(name), acmeIdentifier)),
  )
  return `-----BEGIN CERTIFICATE-----\n${signed(content, keys).toString('base64')}\n-----END CERTIFICATE-----\n`
}

const signed = (content: Buffer, { privateKey }: KeyPair): Buffer =>
  der.sequence(content, ecdsaWithSha256, der.bits(sign('sha256', content, privateKey)))
