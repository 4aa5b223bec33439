import { argon2, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { PasswordHasher, type PasswordAlgorithm } from '../../../src/senders/account/password-hash.ts'

const algorithms = (['argon2id', 'scrypt'] as PasswordAlgorithm[]).filter((name) => name === 'scrypt' || typeof argon2 === 'function')

test.each(algorithms)('%s: the right password is told from a wrong one, and no two hashes are alike', async (algorithm) => {
  const hasher = new PasswordHasher(algorithm)
  const stored = await hasher.hash('correct horse')
  expect(stored).toMatch(algorithm === 'scrypt' ? /^\$scrypt\$ln=15,r=8,p=1\$/ : /^\$argon2id\$m=19456,t=2,p=1\$/)
  expect(await hasher.verify('correct horse', stored)).toBe(true)
  expect(hasher.isOutdated(stored)).toBe(false)
  expect(await hasher.verify('correct horsf', stored)).toBe(false)
  expect(await hasher.verify('', stored)).toBe(false)
  expect(await hasher.verify('correct horse', null)).toBe(false)
  expect(await hasher.hash('correct horse')).not.toBe(stored)
})

test('a hash of another algorithm or with other parameters is still known, and outdated', async () => {
  const stored = await new PasswordHasher('scrypt').hash('correct horse')
  expect(await new PasswordHasher().verify('correct horse', stored)).toBe(true)
  expect(new PasswordHasher().isOutdated(stored)).toBe(typeof argon2 === 'function')
  // scrypt with N = 16: RFC 7914 section 12, first vector.
  const weak = `$scrypt$ln=4,r=1,p=1$$${Buffer.from('77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442', 'hex').toString('base64')}`
  expect(await new PasswordHasher('scrypt').verify('', weak)).toBe(true)
  expect(new PasswordHasher('scrypt').isOutdated(weak)).toBe(true)
})

test('however a keyboard composes its letters, it is the same password', async () => {
  const hasher = new PasswordHasher()
  expect(await hasher.verify('gr\u00fc\u00dfe 12345', await hasher.hash('gru\u0308\u00dfe 12345'))).toBe(true)
})

test.each(['', 'nine char', 'x'.repeat(201)])('"%s" is no password', async (password) => {
  await expect(new PasswordHasher().hash(password)).rejects.toMatchObject({ code: 'validation_error' })
})

test('a flood is turned away, and everybody else has a turn', async () => {
  const hasher = new PasswordHasher()
  const tries = Array.from({ length: 60 }, () => hasher.hash(randomBytes(8).toString('hex'), { name: '192.0.2.0', isKnown: false }))
  const other = hasher.hash('correct horse', { name: '198.51.100.0', isKnown: false })
  const settled = await Promise.allSettled(tries)
  const refused = settled.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(50)
  expect(refused.every((result) => result.status === 'rejected' && result.reason.code === 'service_unavailable')).toBe(true)
  expect(await other).toContain('$')
})
