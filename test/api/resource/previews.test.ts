import { expect, test } from 'vitest'
import { Previews } from '../../../src/api/resource/previews.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const page = (text: string) => ({ html: Buffer.from(text), pictures: false })
const large = { html: Buffer.alloc(5 * 1024 * 1024), pictures: false }

async function start() {
  const db = await testDatabase()
  const clock = settableClock()
  const previews = new Previews({ db, clock })
  const add = async (holder: string, preview: ReturnType<typeof page>) => (await previews.add(holder, preview)).token
  /** One after the other, as they were taken. */
  const areKept = async (tokens: string[]): Promise<boolean[]> => {
    const kept = []
    for (const token of tokens) kept.push((await previews.take(token)) !== undefined)
    return kept
  }
  return { db, clock, previews, add, areKept }
}

test('a holder has at most 20 at a time: the oldest make room', async () => {
  const { add, areKept } = await start()
  const other = await add('usr_2', page('other'))
  const tokens = []
  for (let place = 0; place < 22; place++) tokens.push(await add('usr_1', page(String(place))))
  expect(await areKept(tokens)).toEqual([false, false, ...Array<boolean>(20).fill(true)])
  expect(await areKept([other])).toEqual([true])
})

test('a holder takes at most 16 MiB, so that nobody pushes out what others are about to see', async () => {
  const { add, areKept } = await start()
  const other = await add('usr_2', page('other'))
  const tokens = []
  for (let count = 0; count < 6; count++) tokens.push(await add('usr_1', large))
  expect(await areKept(tokens)).toEqual([false, false, false, true, true, true])
  expect(await areKept([other])).toEqual([true])
})

test('all of them together take at most 64 MiB', async () => {
  const { add, areKept } = await start()
  const tokens = []
  for (let place = 0; place < 14; place++) tokens.push(await add(`usr_${place}`, large))
  expect(await areKept(tokens)).toEqual([false, false, ...Array<boolean>(12).fill(true)])
})

test('one that nobody fetched is removed after a minute', async () => {
  const { db, clock, previews, add } = await start()
  const token = await add('usr_1', page('late'))
  clock.advance(60_000)
  expect(await previews.take(token)).toBeUndefined()
  await add('usr_1', page('later'))
  clock.advance(60_000)
  await previews.sweep()
  expect(await db.read('select id from preview')).toEqual([])
})

test('any node gives it away, once, and the database alone does not tell what is in it', async () => {
  const { db, clock, add } = await start()
  const token = await add('usr_1', { html: Buffer.from('<p>secret</p>'), pictures: true })
  const [row] = await db.read<{ html: Uint8Array }>('select html from preview')
  expect(Buffer.from(row!.html).includes('secret')).toBe(false)
  const others = [1, 2, 3].map(() => new Previews({ db, clock }))
  const taken = (await Promise.all(others.map((previews) => previews.take(token)))).filter((preview) => preview !== undefined)
  expect(taken.map(({ html, pictures }) => [Buffer.from(html).toString(), pictures])).toEqual([['<p>secret</p>', true]])
})
