import { expect, test } from 'vitest'
import { idFloor, idSequence, isId, newId, timeOfId } from '../../src/platform/id.ts'

test('ids sort by creation, and none occurs twice', () => {
  const ids = Array.from({ length: 5000 }, (_, i) => newId('em', 1_795_000_000_000 + Math.floor(i / 1000)))
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.every((id) => isId('em', id))).toBe(true)
})

test('ids of earlier times between them do not disturb the order of ids', () => {
  const now = 1_795_000_000_000
  // Its own, because what runs beside it makes ids of later times.
  const nextId = idSequence()
  const ids = Array.from({ length: 200 }, (_, i) => {
    nextId('att', now - 1 - (i % 7))
    return nextId('evt', now + Math.floor(i / 50))
  })
  expect(ids.toSorted()).toEqual(ids)
})

test('the floor of a time lies between earlier and later ids', () => {
  const floor = idFloor('evt', 2000)
  expect(newId('evt', 1999) < floor).toBe(true)
  expect(newId('evt', 2000) > floor).toBe(true)
})

test.each(['em_', 'em_123', 'evt_01m7yn209v501hrfgyr60ze872', 'em_01M7YN209V501HRFGYR60ZE872', 'em_01m7yn209v501hrfgyr60ze87u'])(
  '%s is not the id of an email',
  (text) => expect(isId('em', text)).toBe(false),
)

test('an id contains its creation time', () => {
  for (const at of [0, 1999, Date.UTC(2026, 10, 21, 6)]) expect(timeOfId(newId('rcp', at))).toBe(at)
})
