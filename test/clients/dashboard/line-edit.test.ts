import { expect, test } from 'vitest'
import { indent } from '../../../src/clients/dashboard/line-edit.ts'

/** A text in which `[` and `]` are the ends of the selection, or `|` is the place of writing. */
function parse(marked: string): { text: string; from: number; to: number } {
  const from = marked.search(/[[|]/)
  const text = marked.replace(/[[|]/, '')
  const to = text.indexOf(']')
  return { text: text.replace(']', ''), from, to: to === -1 ? from : to }
}

function mark(text: string, from: number, to: number): string {
  return from === to ? `${text.slice(0, from)}|${text.slice(from)}` : `${text.slice(0, from)}[${text.slice(from, to)}]${text.slice(to)}`
}

test.each<[before: string, back: boolean, after: string]>([
  ['|', false, '  |'],
  ['<p>|</p>', false, '<p>  |</p>'],
  ['a\n|b', false, 'a\n  |b'],
  ['[a\nb]', false, '  [a\n  b]'],
  ['x\n[a\n]b', false, 'x\n  [a\n]b'],
  ['x\na[b\n\nc]d\ny', false, 'x\n  a[b\n\n  c]d\ny'],
  ['  a|', true, 'a|'],
  ['\ta|b', true, 'a|b'],
  [' a|', true, 'a|'],
  ['    a|', true, '  a|'],
  ['  |', true, '|'],
  ['x\n |   a', true, 'x\n|  a'],
  ['x\n  [a\n  b]\n  c', true, 'x\n[a\nb]\n  c'],
])('Tab in %j, back: %s', (before, back, after) => {
  const { text, from, to } = parse(before)
  const edit = indent(text, { from, to, back })
  expect(edit).not.toBeNull()
  const { from: start, to: end, text: replacement, selectFrom, selectTo } = edit as NonNullable<typeof edit>
  expect(mark(text.slice(0, start) + replacement + text.slice(end), selectFrom, selectTo)).toBe(after)
})

test('there is nothing to take away', () => {
  expect(indent('a', { from: 1, to: 1, back: true })).toBeNull()
  expect(indent('a\n\n', { from: 2, to: 3, back: false })).toBeNull()
})
