import { expect, test } from 'vitest'
import { PendingWork } from '../../src/platform/pending-work.ts'

test('waits for work under way, and for work that it starts', async () => {
  const failures: unknown[] = []
  const underWay = new PendingWork((error) => failures.push(error))
  const done: string[] = []
  const later = async (name: string): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve))
    done.push(name)
  }
  underWay.track(later('first').then(() => underWay.track(later('second'))))
  underWay.track(Promise.reject(new Error('no')))
  await underWay.ended()
  expect(done).toEqual(['first', 'second'])
  expect(failures).toEqual([new Error('no')])
})

test('does not wait longer than it may', async () => {
  const underWay = new PendingWork(() => {})
  underWay.track(new Promise(() => {}))
  await underWay.ended(1)
})
