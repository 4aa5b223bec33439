import { execFileSync } from 'node:child_process'
import { X509Certificate, createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { challengeCertificate, newKeyPair, signingRequest } from '../../../src/platform/certificate/signing-request.ts'

const openssl = (args: string[], input: string | Buffer): string => execFileSync('openssl', args, { input, stdio: 'pipe' }).toString()

test.each(['mail.example.com', `${'long-label.'.repeat(20)}example.com`])('OpenSSL reads and verifies a request for %s', async (name) => {
  const request = signingRequest(name, await newKeyPair())
  const text = openssl(['req', '-inform', 'DER', '-noout', '-text', '-verify'], request)
  expect(text).toContain(`DNS:${name}`)
  expect(text).toContain('ecdsa-with-SHA256')
})

test('the certificate for TLS-ALPN-01 has the name, and the digest in a critical extension', async () => {
  const keys = await newKeyPair()
  const pem = challengeCertificate('links.example.com', 'token.thumbprint', { keys, now: Date.now() })
  const parsed = new X509Certificate(pem)
  expect(parsed.subjectAltName).toBe('DNS:links.example.com')
  expect(parsed.verify(keys.publicKey)).toBe(true)
  const digest = createHash('sha256').update('token.thumbprint').digest('hex').toUpperCase()
  const text = openssl(['asn1parse'], pem)
  expect(text).toMatch(new RegExp(`:(?:ACME Identifier|1\\.3\\.6\\.1\\.5\\.5\\.7\\.1\\.31)\\s*\\n.* BOOLEAN +:255\\n.*:0420${digest}`))
})
