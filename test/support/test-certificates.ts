import { createHash, X509Certificate } from 'node:crypto'
import { generate } from 'selfsigned'
import type { TlsaRecord } from '../../src/platform/resolver.ts'

export interface TestCertificate {
  key: string
  cert: string
}

interface Wishes {
  expired?: boolean
  days?: number
  /** Signs it; its certificate follows in `cert`. */
  issuer?: TestCertificate
}

/** A certificate for these names that signs itself and is its own authority, unless another issues it. */
export async function testCertificate(names: string[], { expired = false, days = 30, issuer }: Wishes = {}): Promise<TestCertificate> {
  const dayMs = 86_400_000
  const from = new Date(Date.now() - (expired ? 30 : 1) * dayMs)
  const until = new Date(Date.now() + (expired ? -1 : days) * dayMs)
  const made = await generate([{ name: 'commonName', value: names[0] ?? 'test' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ...(issuer && { ca: issuer }),
    notBeforeDate: from,
    notAfterDate: until,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'subjectAltName', altNames: names.map((value) => ({ type: 2, value })) },
    ],
  })
  return { key: made.private, cert: issuer ? `${made.cert}\n${issuer.cert}` : made.cert }
}

/** The record that a certificate, the first if there are several, matches. */
export function tlsaOf({ cert }: Pick<TestCertificate, 'cert'>, [usage, selector, matchingType]: [number, number, number]): TlsaRecord {
  const certificate = new X509Certificate(cert)
  const bytes = selector === 0 ? certificate.raw : certificate.publicKey.export({ type: 'spki', format: 'der' })
  const data =
    matchingType === 0
      ? bytes
      : createHash(matchingType === 1 ? 'sha256' : 'sha512')
          .update(bytes)
          .digest()
  return { usage, selector, matchingType, data }
}
