import { expect, test } from 'vitest'
import { Silence } from '../../../src/platform/store/silence.ts'

/** Looks at one other node: when each began and ended (s), and the counter that it found; then who is dead. */
test.each<[string, [began: number, ended: number, beat: number][], boolean]>([
  [
    'counts up',
    [
      [0, 0, 1],
      [1, 1, 2],
      [2, 2, 3],
      [3, 3, 4],
      [4, 4, 5],
      [5, 5, 6],
      [6, 6, 7],
    ],
    false,
  ],
  [
    'has stood still for less than 5 s',
    [
      [0, 0, 1],
      [1, 1, 1],
      [2, 2, 1],
      [3, 3, 1],
      [4, 4, 1],
      [4.9, 4.9, 1],
    ],
    false,
  ],
  [
    'has stood still for 5 s',
    [
      [0, 0, 1],
      [1, 1, 1],
      [2, 2, 1],
      [3, 3, 1],
      [4, 4, 1],
      [5, 5, 1],
    ],
    true,
  ],
  [
    'counted up late',
    [
      [0, 0, 1],
      [2, 2, 1],
      [4, 4, 2],
      [5, 5, 2],
      [7, 7, 2],
    ],
    false,
  ],
  [
    'stood still in a gap of our own',
    [
      [0, 0, 1],
      [1, 1, 1],
      [21, 21, 1],
    ],
    false,
  ],
  [
    'stood still for 5 s after a gap of our own',
    [
      [0, 0, 1],
      [21, 21, 1],
      [23, 23, 1],
      [25, 25, 1],
      [26, 26, 1],
    ],
    true,
  ],
  [
    'stood still during a look that took long',
    [
      [0, 0, 1],
      [1, 21, 1],
    ],
    false,
  ],
  [
    'was seen at the end of a look that took long',
    [
      [0, 2, 1],
      [2, 4, 1],
      [4, 6, 1],
      [6, 8, 1],
    ],
    false,
  ],
  ['is seen for the first time', [[0, 0, 1]], false],
])('a node that %s: is it dead?', (_, looks, isDead) => {
  const silence = new Silence()
  const dead = looks.map(([began, ended, beat]) =>
    silence.look([{ name: 'other', beat }], { beganAt: began * 1_000, endedAt: ended * 1_000 }),
  )
  expect(dead.at(-1)).toEqual(isDead ? [{ name: 'other', beat: 1 }] : [])
  expect(dead.slice(0, -1).flat()).toEqual([])
})
