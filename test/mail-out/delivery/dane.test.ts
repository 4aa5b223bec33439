import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { daneFault, fingerprintOf, usableRecords } from '../../../src/mail-out/delivery/dane.ts'
import { testCertificate, tlsaOf, type TestCertificate } from '../../support/test-certificates.ts'

const names = ['mx.example.com', 'example.com']
let made: Record<'authority' | 'stranger' | 'good' | 'expired' | 'wrongName' | 'lone' | 'ofDomain', TestCertificate>
beforeAll(async () => {
  const authority = await testCertificate(['Authority'])
  const issued = { issuer: authority }
  made = {
    authority,
    stranger: await testCertificate(['Authority']),
    good: await testCertificate(['mx.example.com'], issued),
    expired: await testCertificate(['mx.example.com'], { ...issued, expired: true }),
    wrongName: await testCertificate(['other.test'], issued),
    ofDomain: await testCertificate(['*.other.test', 'example.com'], issued),
    lone: await testCertificate(['other.test'], { expired: true }),
  }
})

/** What a host shows: the first certificate of each. */
const shownBy = (...of: (keyof typeof made)[]): X509Certificate[] => of.map((name) => new X509Certificate(made[name].cert))
type Fields = [usage: number, selector: number, matchingType: number]
const forms: Fields[] = [
  [0, 0, 0],
  [0, 0, 1],
  [0, 0, 2],
  [0, 1, 0],
  [0, 1, 1],
  [0, 1, 2],
]

describe.each(forms)('selector and matching type of %i %i %i', (_, selector, matchingType) => {
  const faultOf = (usage: number, of: keyof typeof made, shown: X509Certificate[]) =>
    daneFault(shown, [tlsaOf(made[of], [usage, selector, matchingType])], { names, at: Date.now() })

  it('usage 3 matches the certificate of the host, whatever that says of names and dates', () => {
    expect(faultOf(3, 'good', shownBy('good', 'authority'))).toBeNull()
    expect(faultOf(3, 'lone', shownBy('lone'))).toBeNull()
    expect(faultOf(3, 'good', shownBy('wrongName', 'authority'))).toMatch(/no TLSA record matches/)
    // Only as the host's own.
    expect(faultOf(3, 'authority', shownBy('good', 'authority'))).toMatch(/no TLSA record matches/)
  })

  it('usage 2 matches an authority that is shown and has issued the certificate, which must be valid', () => {
    expect(faultOf(2, 'authority', shownBy('good', 'authority'))).toBeNull()
    expect(faultOf(2, 'authority', shownBy('ofDomain', 'authority'))).toBeNull()
    expect(faultOf(2, 'authority', shownBy('good'))).toMatch(/no TLSA record matches/)
    expect(faultOf(2, 'good', shownBy('good', 'authority'))).toMatch(/no TLSA record matches/)
    expect(faultOf(2, 'expired', shownBy('expired'))).toMatch(/no TLSA record matches/)
    expect(faultOf(2, 'stranger', shownBy('good', 'stranger'))).toMatch(/has not issued/)
    expect(faultOf(2, 'authority', shownBy('expired', 'authority'))).toBe('CERT_HAS_EXPIRED')
    expect(faultOf(2, 'authority', shownBy('wrongName', 'authority'))).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
  })
})

it('one record that matches is enough', () => {
  const records = [tlsaOf(made.stranger, [2, 1, 1]), tlsaOf(made.stranger, [3, 1, 1]), tlsaOf(made.good, [3, 1, 1])]
  expect(daneFault(shownBy('good'), records, { names, at: Date.now() })).toBeNull()
  // A new key is rolled out before the certificate: both records stand side by side.
  expect(daneFault(shownBy('lone'), [...records, tlsaOf(made.lone, [3, 1, 1])], { names, at: Date.now() })).toBeNull()
  expect(daneFault([], records, { names, at: Date.now() })).toMatch(/no certificate/)
})

it('an authority is valid in its time only', () => {
  const records = [tlsaOf(made.authority, [2, 0, 1])]
  const at = (days: number) => daneFault(shownBy('good', 'authority'), records, { names, at: Date.now() + days * 86_400_000 })
  expect([at(-2), at(0), at(31)]).toEqual(['CERT_NOT_YET_VALID', null, 'CERT_HAS_EXPIRED'])
})

const digest = Buffer.alloc(32, 1)
it.each<[string, boolean, Fields, Buffer]>([
  ['an authority, by digest', true, [2, 0, 1], digest],
  ['a key, by digest', true, [3, 1, 1], digest],
  ['SHA-512', true, [3, 1, 2], Buffer.alloc(64)],
  ['a whole certificate', true, [3, 0, 0], Buffer.alloc(700)],
  ['PKIX-TA', false, [0, 0, 1], digest],
  ['PKIX-EE', false, [1, 0, 1], digest],
  ['a usage that nobody knows', false, [4, 0, 1], digest],
  ['a usage of one’s own', false, [255, 0, 1], digest],
  ['a selector that nobody knows', false, [3, 2, 1], digest],
  ['a matching type that nobody knows', false, [3, 1, 3], digest],
  ['a digest that is too short', false, [3, 1, 1], digest.subarray(1)],
  ['a digest of the wrong kind', false, [3, 1, 2], digest],
  ['nothing to compare', false, [3, 0, 0], Buffer.alloc(0)],
])('%s is usable: %s', (_, isUsable, [usage, selector, matchingType], data) => {
  expect(usableRecords([{ usage, selector, matchingType, data }])).toHaveLength(isUsable ? 1 : 0)
})

it('of many records a hundred are used, the same ones in any order', () => {
  const many = Array.from({ length: 1400 }, (_, i) => ({ usage: 3, selector: 1, matchingType: 1, data: Buffer.alloc(32, `${i};`) }))
  const used = usableRecords(many)
  expect(used).toHaveLength(100)
  expect(usableRecords(many.toReversed())).toEqual(used)
  expect(usableRecords([...many.slice(0, 99), ...many.slice(0, 99)])).toHaveLength(99)
})

it('a certificate is hashed once for all records of the same form', () => {
  const shown = shownBy('good', 'authority')
  const read: string[] = []
  for (const certificate of shown) {
    const { raw, subject } = certificate
    const get = (): Buffer => {
      read.push(subject)
      return raw
    }
    Object.defineProperty(certificate, 'raw', { get })
  }
  const records = [2, 3].flatMap((usage) =>
    Array.from({ length: 50 }, (_, i) => ({ usage, selector: 0, matchingType: 1, data: Buffer.alloc(32, i) })),
  )
  expect(daneFault(shown, records, { names, at: Date.now() })).toMatch(/no TLSA record matches/)
  expect(read).toEqual(shown.map(({ subject }) => subject))
})

it('records have the same fingerprint in any order, and others have another', () => {
  const [one, other] = [tlsaOf(made.good, [3, 1, 1]), tlsaOf(made.authority, [2, 1, 1])]
  expect(fingerprintOf([one, other])).toBe(fingerprintOf([other, one]))
  const all = [[one], [other], [one, other], [{ ...one, usage: 2 }]].map(fingerprintOf)
  expect(new Set(all).size).toBe(4)
})
