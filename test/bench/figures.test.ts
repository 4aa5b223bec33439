import { expect, test } from 'vitest'
import { median, quantile } from '../../bench/figures.ts'
import { markdownTable } from '../../bench/markdown-table.ts'

test.each([
  [[], 0],
  [[7], 7],
  [[3, 1, 2], 2],
  [[40, 10, 30, 20], 30],
])('the median of %j is %d', (numbers, middle) => {
  expect(median(numbers)).toBe(middle)
})

test.each([
  [0, 10],
  [0.25, 20],
  [0.99, 40],
  [1, 40],
])('the quantile %d of four figures is %d', (q, figure) => {
  expect(quantile([10, 20, 30, 40], q)).toBe(figure)
})

test('a table is aligned, and its first row is the heading', () => {
  const table = markdownTable([
    ['', 'ratio'],
    ['CPU', '0.75'],
    ['memory idle', '1.00'],
  ])
  expect(table.split('\n')).toEqual([
    '|             | ratio |',
    '| ----------- | ----- |',
    '| CPU         | 0.75  |',
    '| memory idle | 1.00  |',
  ])
})
