import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { generateIdentity, identitiesIn, recipientOf } from '../../../src/upkeep/backup/age-identity.ts'
import { pack, packedEnd, unpack } from '../../../src/upkeep/backup/packing.ts'

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
  await expect(open([await generateIdentity()])).rejects.toThrow(
    /^f\.zst\.age is encrypted for others: the age identity given with --identity does not open it/,
  )
  await expect(open([])).rejects.toThrow(/^f\.zst\.age is encrypted\. .*--identity FILE/)
  expect((await open([await generateIdentity(), identity])()).equals(content)).toBe(true)
})

test('an identity file may have comments', () => {
  expect(identitiesIn(`# public key: x\n\n ${identity}\r\n`, 'id.txt')).toEqual([identity])
})

const typo = identity.replace(/^(AGE-SECRET-KEY-1)./, '$1b')
test.each([
  ['nothing', '', /^\/id\.txt has no age identity\. /],
  ['comments alone', '# public key: x\n', /^\/id\.txt has no age identity\. /],
  ['something else', `${identity}\nhello\n`, /^\/id\.txt is not a file of age identities: line 2 cannot be read\. /],
  ['a recipient', `# public key\n${recipients[0]}\n`, /line 2 cannot be read/],
  ['a mistyped identity', typo, /line 1 cannot be read/],
])('an identity file with %s is named, and not quoted', (_, text, told) => {
  expect(() => identitiesIn(text, '/id.txt')).toThrow(told)
  expect(() => identitiesIn(text, '/id.txt')).not.toThrow(text.trim() || 'never')
})
