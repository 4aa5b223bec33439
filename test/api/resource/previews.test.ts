import { expect, test } from 'vitest'
import { Previews } from '../../../src/api/resource/previews.ts'
import { settableClock } from '../../support/settable-clock.ts'

const page = (text: string) => ({ html: Buffer.from(text), pictures: false })

test('a holder has at most 20 at a time: the oldest make room', () => {
  const previews = new Previews(settableClock(0))
  const other = previews.add('usr_2', page('other')).token
  const tokens = Array.from({ length: 22 }, (_, place) => previews.add('usr_1', page(String(place))).token)
  expect(tokens.map((token) => previews.take(token) !== undefined)).toEqual([false, false, ...Array<boolean>(20).fill(true)])
  expect(previews.take(other)).toBeDefined()
})

test('a holder takes at most 16 MiB, so that nobody pushes out what others are about to see', () => {
  const previews = new Previews(settableClock(0))
  const other = previews.add('usr_2', page('other')).token
  const html = Buffer.alloc(5 * 1024 * 1024)
  const tokens = Array.from({ length: 20 }, () => previews.add('usr_1', { html, pictures: false }).token)
  expect(tokens.map((token) => previews.take(token) !== undefined)).toEqual([...Array<boolean>(17).fill(false), true, true, true])
  expect(previews.take(other)).toBeDefined()
})

test('all of them together take at most 64 MiB', () => {
  const previews = new Previews(settableClock(0))
  const html = Buffer.alloc(5 * 1024 * 1024)
  const tokens = Array.from({ length: 14 }, (_, place) => previews.add(`usr_${place}`, { html, pictures: false }).token)
  expect(tokens.map((token) => previews.take(token) !== undefined)).toEqual([false, false, ...Array<boolean>(12).fill(true)])
})

test('one that nobody fetched is forgotten after a minute', () => {
  const clock = settableClock(0)
  const previews = new Previews(clock)
  const { token } = previews.add('usr_1', page('late'))
  clock.advance(60_000)
  previews.sweep()
  clock.advance(-60_000)
  expect(previews.take(token)).toBeUndefined()
})
