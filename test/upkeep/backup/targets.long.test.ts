import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openTarget, type S3Access } from '../../../src/upkeep/backup/open-target.ts'
import type { Target } from '../../../src/upkeep/backup/target.ts'
import { testS3 } from '../../support/test-s3.ts'
import { testDirectory } from '../../support/temporary-directory.ts'

const none: S3Access = { endpoint: null, region: 'us-east-1', accessKeyId: null, secretAccessKey: null }

async function access(change: Partial<S3Access> = {}): Promise<S3Access> {
  const settings = await testS3()
  const endpoint = settings['STERNA_BACKUP_S3_ENDPOINT'] as string
  return { endpoint, region: 'eu-central-1', accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER', ...change }
}

const kinds: [string, () => Promise<Target>][] = [
  ['a directory', async () => openTarget('new/place', none, testDirectory())],
  ['S3', async () => openTarget('s3://copies/some/place', await access(), '/')],
]
const read = async (target: Target, name: string): Promise<Buffer> => Buffer.concat(await (await target.get(name)).toArray())

describe.each(kinds)('%s', (_, open) => {
  test('returns what was stored, lists it by prefix, and removes it', async () => {
    const target = await open()
    expect(await target.list('')).toEqual([])
    // Of one part exactly, of several, and of none.
    const contents = { 'b/one': randomBytes(8 * 1024 * 1024), 'b/several.x_y-z': randomBytes(20_000_000), 'a/none': Buffer.alloc(0) }
    for (const folder of ['', 'a/', 'b/']) await target.prepare(folder)
    expect(await target.has('b/one')).toBe(false)
    for (const [name, content] of Object.entries(contents)) await target.put(name, Readable.from([content]))
    for (const [name, content] of Object.entries(contents)) expect((await read(target, name)).equals(content)).toBe(true)
    expect([await target.has('b/one'), await target.has('b/on'), await target.has('b')]).toEqual([true, false, false])
    expect(await target.list('b/')).toEqual([
      { name: 'b/one', bytes: 8 * 1024 * 1024 },
      { name: 'b/several.x_y-z', bytes: 20_000_000 },
    ])
    await target.put('b/one', Readable.from([Buffer.from('again')]))
    expect(String(await read(target, 'b/one'))).toBe('again')
    await target.remove('b/one')
    await target.remove('b/one')
    expect((await target.list('')).map(({ name }) => name)).toEqual(['a/none', 'b/several.x_y-z'])
    await expect(target.get('b/one')).rejects.toThrow(/^There is no b\/one in /)
  })

  test('shows nothing of what could not be read to its end', async () => {
    const target = await open()
    await target.prepare('')
    const content = Readable.from(
      (async function* () {
        yield randomBytes(18_000_000)
        throw new Error('the source failed')
      })(),
    )
    await expect(target.put('part', content)).rejects.toThrow('the source failed')
    expect(await target.list('')).toEqual([])
  })
})

test('more files than one answer of S3 lists are all listed', async () => {
  const target = openTarget('s3://copies', await access(), '/')
  const names = Array.from({ length: 1_100 }, (_, i) => `n${String(i).padStart(4, '0')}`)
  for (const name of names) await target.put(name, Readable.from([]))
  expect((await target.list('n')).map(({ name }) => name)).toEqual(names)
})

test.each([
  [
    'a wrong secret',
    { secretAccessKey: 'wrong' },
    's3://copies/x',
    /^The S3 server refused PUT s3:\/\/copies\/x\/f: SignatureDoesNotMatch /,
  ],
  ['an unknown key', { accessKeyId: 'nobody' }, 's3://copies/x', /InvalidAccessKeyId/],
  ['a bucket that is not there', {}, 's3://other/x', /NoSuchBucket/],
  [
    'a server that is not there',
    { endpoint: 'http://127.0.0.1:1' },
    's3://copies/x',
    /^The S3 server http:\/\/127.0.0.1:1 cannot be reached: /,
  ],
])('S3 with %s says what is wrong', async (_, change, place, message) => {
  await expect(openTarget(place, await access(change), '/').put('f', Readable.from([Buffer.from('x')]))).rejects.toThrow(message)
})

test.each([
  ['s3://x', none],
  ['s3://Bucket_/x', none],
  ['s3://copies/x', none],
])('%s cannot be opened without a bucket and a key', (place, given) => {
  expect(() => openTarget(place, given, '/')).toThrow(/Write it like s3:\/\/bucket\/prefix\.|set backup\.s3_access_key_id/)
})

test('a directory that is a file is refused, with what to do', async () => {
  const directory = testDirectory()
  writeFileSync(join(directory, 'file'), '')
  for (const use of [(target: Target) => target.prepare(''), (target: Target) => target.put('f', Readable.from([Buffer.from('x')]))]) {
    await expect(use(openTarget('file', none, directory))).rejects.toThrow(/cannot be written: .* Check that /)
  }
})

test('only its owner may read what is in a directory', async () => {
  const directory = testDirectory()
  mkdirSync(join(directory, 'open'))
  chmodSync(join(directory, 'open'), 0o755)
  const target = openTarget('open', none, directory)
  await target.prepare('deep/')
  await target.put('deep/f', Readable.from([Buffer.from('x')]))
  expect(['open/deep', 'open/deep/f'].map((name) => statSync(join(directory, name)).mode & 0o777)).toEqual([0o700, 0o600])
  expect(readdirSync(join(directory, 'open/deep'))).toEqual(['f'])
})

test('names of others in an S3 listing, which a request would take for another object, are left out', async () => {
  const keys = ['some/sterna-1.db', 'some/sterna-1./../../others', 'some/sterna-1.?uploads', 'some/sterna-1.%2e%2e/x', 'some/sterna-1.#x']
  const contents = keys.map((key) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`).join('')
  const server = createServer((_, res) => void res.end(`<ListBucketResult><IsTruncated>false</IsTruncated>${contents}</ListBucketResult>`))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const target = openTarget('s3://copies/some', { endpoint, region: 'x', accessKeyId: 'a', secretAccessKey: 'b' }, '/')
  expect(await target.list('sterna-1.')).toEqual([{ name: 'sterna-1.db', bytes: 1 }])
})

test('a directory that was there is never made anew, nor a folder in it', async () => {
  const directory = testDirectory()
  const target = openTarget('place', none, directory)
  for (const folder of ['', 'copy/', 'copy/deep/']) await target.prepare(folder)
  rmSync(join(directory, 'place'), { recursive: true })
  const put = () => target.put('copy/deep/f', Readable.from([Buffer.from('x')]))
  await expect(put()).rejects.toThrow(/ENOENT.*Check that the directory is mounted/)
  await expect(target.prepare('copy/')).rejects.toThrow(/ENOENT/)
  mkdirSync(join(directory, 'place'))
  await expect(put()).rejects.toThrow(/ENOENT/)
  expect(readdirSync(join(directory, 'place'))).toEqual([])
})

test('what is being stored stays, and what was left goes, whatever the clock of the directory is', async () => {
  const directory = testDirectory()
  const target = openTarget('.', none, directory)
  const day = 24 * 3_600_000
  const part = (name: string, begunAt: number, changedAt: number): void => {
    const file = join(directory, `${name}.${begunAt.toString(36)}-0123abcd.part`)
    writeFileSync(file, '')
    utimesSync(file, changedAt / 1000, changedAt / 1000)
  }
  part('stored', Date.now() - 1_000, Date.now() - 400 * day)
  part('left', Date.now() - 2 * day, Date.now() + 400 * day)
  await target.list('')
  expect(readdirSync(directory)).toEqual([expect.stringMatching(/^stored\..*\.part$/)])
})

/** What an S3 server does whose clock is wrong: it refuses what was signed a quarter of an hour before or after. */
async function s3AheadBy(ms: number): Promise<{ endpoint: string; refused(): number }> {
  const skewed = (date: string | undefined): boolean => {
    const [, y, m, d, h, i, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date ?? '') ?? []
    return Math.abs(Date.parse(`${y}-${m}-${d}T${h}:${i}:${s}Z`) - Date.now() - ms) > 15 * 60_000
  }
  let refusals = 0
  const server = createServer((req, res) => {
    res.setHeader('date', new Date(Date.now() + ms).toUTCString())
    req.resume().on('end', () => {
      if (!skewed(req.headers['x-amz-date'] as string)) return res.end()
      refusals++
      res.statusCode = 403
      res.end('<Error><Code>RequestTimeTooSkewed</Code><Message>The difference is too large.</Message></Error>')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, refused: () => refusals }
}

test.each([2, -40])('an S3 server whose clock is %d hours ahead takes what is stored', async (hours) => {
  const { endpoint, refused } = await s3AheadBy(hours * 3_600_000)
  const target = openTarget('s3://copies/x', { endpoint, region: 'x', accessKeyId: 'a', secretAccessKey: 'b' }, '/')
  for (let i = 0; i < 3; i++) await target.put('f', Readable.from([Buffer.from('x')]))
  expect(await target.has('f')).toBe(true)
  expect(refused()).toBe(1)
})
