import { expect, test } from 'vitest'
import { HashTurns, type HashParty } from '../../../src/senders/account/hash-turns.ts'

/** Turns that end when the test says so. */
function turns() {
  const line = new HashTurns()
  const started: string[] = []
  const ends: (() => void)[] = []
  const take = async ({ name, isKnown }: HashParty): Promise<boolean> => {
    const taken = await line.take({ name, isKnown }, () => new Promise<void>((end) => ends.push(end) && started.push(name)))
    return taken !== null
  }
  /** Ends everything that runs, until nothing is left. */
  const finish = async (): Promise<string[]> => {
    while (ends.length > 0) {
      ends.shift()?.()
      await new Promise(setImmediate)
    }
    return started
  }
  return { take, finish, started }
}

const stranger = (name: string): HashParty => ({ name, isKnown: false })
const known = (name: string): HashParty => ({ name, isKnown: true })
const countOf = async (tries: Promise<boolean>[]): Promise<number> => (await Promise.all(tries)).filter(Boolean).length

test('a known user waits for one stranger at most, and strangers wait for one known user', async () => {
  const { take, finish } = turns()
  const tries = ['a', 'a', 'a', 'b', 'c'].map((name) => take(stranger(name)))
  tries.push(...['U', 'U', 'V', 'W'].map((name) => take(known(name))))
  expect(await finish()).toEqual(['a', 'a', 'U', 'a', 'V', 'b', 'W', 'c', 'U'])
  expect(await countOf(tries)).toBe(9)
})

test('one network gets a share of the places, and leaves the others to others', async () => {
  const { take, finish } = turns()
  const flood = Array.from({ length: 100 }, () => take(stranger('flood')))
  const others = Array.from({ length: 10 }, (_, number) => take(stranger(`n${number}`)))
  const started = await finish()
  expect(await countOf(flood)).toBe(10)
  expect(await countOf(others)).toBe(10)
  // They take turns with it, whoever came first.
  expect(started.slice(0, 5)).toEqual(['flood', 'flood', 'flood', 'n0', 'n1'])
})

test('however many strangers come from however many networks, known users have places', async () => {
  const { take, finish, started } = turns()
  const flood = Array.from({ length: 1000 }, (_, number) => take(stranger(`n${number}`)))
  const owner = take(known('owner'))
  await finish()
  expect(await countOf(flood)).toBe(34)
  expect(await owner).toBe(true)
  expect(started.indexOf('owner')).toBe(2)
})

test('no known user takes all places of the others', async () => {
  const { take, finish } = turns()
  const many = Array.from({ length: 100 }, () => take(known('one')))
  const other = take(known('other'))
  const started = await finish()
  expect([await countOf(many), await other]).toEqual([10, true])
  expect(started.indexOf('other')).toBe(3)
})

test('work that fails gives its turn to the next', async () => {
  const line = new HashTurns()
  const failing = Array.from({ length: 5 }, () => line.take(stranger('a'), () => Promise.reject(new Error('no'))))
  expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
  expect(await line.take(stranger('a'), async () => 'done')).toEqual({ done: 'done' })
})
