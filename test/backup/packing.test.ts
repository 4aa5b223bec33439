import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { generateIdentity, identitiesIn, pack, packedEnd, recipientOf, unpack } from '../../src/backup/packing.ts'

const content = Buffer.concat([Buffer.alloc(2_000_000, 'text '), randomBytes(1_000_000)])
const read = async (stream: Readable): Promise<Buffer> => Buffer.concat(await stream.toArray())
const identity = await generateIdentity()
const recipients = [await recipientOf(identity)]

test.each([
  ['compressed', []],
  ['encrypted', recipients],
])('what was %s is the same after it is opened, and what was changed on the way is refused', async (_, to) => {
  const name = `f${packedEnd(to)}`
  const packed = await read(pack(Readable.from([content.subarray(0, 70_000), content.subarray(70_000)]), to))
  expect(packed.length).toBeLessThan(content.length / 2)
  const open = (bytes: Buffer): Promise<Buffer> => read(unpack(Readable.from([bytes]), name, [identity]))
  expect((await open(packed)).equals(content)).toBe(true)
  const damaged = Buffer.from(packed)
  damaged[packed.length >> 1] = (damaged[packed.length >> 1] as number) ^ 1
  for (const bad of [damaged, packed.subarray(0, -1), packed.subarray(0, 500), Buffer.alloc(0)]) await expect(open(bad)).rejects.toThrow()
})

test('only the identity of a recipient opens it', async () => {
  const packed = await read(pack(Readable.from([content]), recipients))
  const open = (identities: string[]) => async () => read(unpack(Readable.from([packed]), 'f.zst.age', identities))
  await expect(open([await generateIdentity()])).rejects.toThrow(/^age: no identity matched/)
  await expect(open([])).rejects.toThrow(/^f\.zst\.age is encrypted\. .*--identity FILE/)
  expect((await open([await generateIdentity(), identity])()).equals(content)).toBe(true)
})

test('an identity file may have comments', () => {
  expect(identitiesIn(`# public key: x\n\n ${identity}\r\n`)).toEqual([identity])
})
