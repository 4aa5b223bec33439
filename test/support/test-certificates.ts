import { generate } from 'selfsigned'

export interface TestCertificate {
  key: string
  cert: string
}

/** A certificate that signs itself, for these names; it is its own authority. */
export async function testCertificate(names: string[], { expired = false, days = 30 } = {}): Promise<TestCertificate> {
  const dayMs = 86_400_000
  const from = new Date(Date.now() - (expired ? 30 : 1) * dayMs)
  const until = new Date(Date.now() + (expired ? -1 : days) * dayMs)
  const made = await generate([{ name: 'commonName', value: names[0] ?? 'test' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: from,
    notAfterDate: until,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'subjectAltName', altNames: names.map((value) => ({ type: 2, value })) },
    ],
  })
  return { key: made.private, cert: made.cert }
}
