import { expect, test } from 'vitest'
import { fingerprintOf, secretsFrom } from '../../../src/senders/account/key-file.ts'
import { KeyRing } from '../../../src/senders/account/key-ring.ts'
import { derivedFrom } from '../../../src/platform/key-generations.ts'

const [first, second, third] = [1, 2, 3].map((fill) => Buffer.alloc(32, fill)) as [Buffer, Buffer, Buffer]
const nameOf = (root: Buffer): string => fingerprintOf(secretsFrom(root))
const plain = Buffer.from('a private key')

test('a key that was added is opened with at once, and sealed and signed with once it is in use', () => {
  const ring = new KeyRing(secretsFrom(first), nameOf(first))
  const keys = derivedFrom(ring, (deriveKey) => deriveKey('verp'))
  expect(ring.takeOver(secretsFrom(second, first))).toBe(true)
  const [newer, older] = [secretsFrom(second), secretsFrom(first)]
  expect([ring.used, ring.newest]).toEqual([nameOf(first), nameOf(second)])
  expect(ring.open(newer.seal(plain, 'x'), 'x')).toEqual(plain)
  expect(older.open(ring.seal(plain, 'x'), 'x')).toEqual(plain)
  expect(keys()).toEqual([older.deriveKey('verp'), newer.deriveKey('verp')])

  expect(ring.use(nameOf(second))).toBe(true)
  expect(newer.open(ring.seal(plain, 'x'), 'x')).toEqual(plain)
  expect(ring.open(older.seal(plain, 'x'), 'x')).toEqual(plain)
  expect(keys()).toEqual([newer.deriveKey('verp'), older.deriveKey('verp')])
  expect(keys()).toBe(keys())
})

test('a new key that was never used may go again, or give way to another one', () => {
  const ring = new KeyRing(secretsFrom(second, first), nameOf(first))
  for (const file of [secretsFrom(third, first), secretsFrom(first), secretsFrom(second, first)]) {
    expect(ring.takeOver(file)).toBe(true)
    expect([ring.used, ring.newest]).toEqual([nameOf(first), fingerprintOf(file)])
  }
  expect(ring.takeOver(secretsFrom(second))).toBe(false)
})

test('a key that is withdrawn while it is taken into use seals, and is missed in the file', () => {
  const ring = new KeyRing(secretsFrom(second, first), nameOf(first))
  expect(ring.takeOver(secretsFrom(first))).toBe(true)
  expect(ring.use(nameOf(second))).toBe(true)
  expect(secretsFrom(second).open(ring.seal(plain, 'x'), 'x')).toEqual(plain)
  expect(ring.takeOver(secretsFrom(first))).toBe(false)
})

test('a file that lacks a key is not taken over, nor is a key used that the file lacks', () => {
  const ring = new KeyRing(secretsFrom(second, first), nameOf(second))
  for (const file of [secretsFrom(second), secretsFrom(first), secretsFrom(third)]) expect(ring.takeOver(file)).toBe(false)
  expect(ring.use(nameOf(third))).toBe(false)
  expect(ring.generations).toHaveLength(2)
  expect(ring.used).toBe(nameOf(second))
})
