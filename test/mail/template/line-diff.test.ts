import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffLines } from '../../../src/mail/template/line-diff.ts'
import { cases } from '../../support/cases.ts'

/** What the first text becomes by a unified diff, hunk by hunk; every line of context must be where it is said to be. */
function patched(before: string, diff: string): string {
  const lines = before.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const out: string[] = []
  let at = 0
  const written = diff.replaceAll('\n\\ No newline at end of file\n', '\0')
  for (const line of written.match(/[^\n\0]*[\n\0]/g) ?? []) {
    const hunk = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$/.exec(line.trimEnd())
    const text = line.slice(1).replace('\0', '')
    if (hunk) {
      const start = Number(hunk[1]) - (hunk[2] === '0' ? 0 : 1)
      while (at < start) out.push(lines[at++] as string)
      expect(out.length).toBe(Number(hunk[3]) - (hunk[4] === '0' ? 0 : 1))
    } else if (line.startsWith('+')) out.push(text)
    else {
      expect(lines[at]).toBe(text)
      at++
      if (line.startsWith(' ')) out.push(text)
    }
  }
  return [...out, ...lines.slice(at)].join('')
}

/** The length of the longest common subsequence of lines, by the book. */
function commonLines(a: string, b: string): { common: number; a: number; b: number } {
  const first: string[] = a.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const second: string[] = b.match(/[^\n]*\n|[^\n]+$/g) ?? []
  let row = Array.from({ length: second.length + 1 }, () => 0)
  for (const line of first) {
    const next = [0]
    second.forEach((other, i) => next.push(line === other ? (row[i] as number) + 1 : Math.max(row[i + 1] as number, next[i] as number)))
    row = next
  }
  return { common: row.at(-1) as number, a: first.length, b: second.length }
}

test('lines that differ are shown with three lines around them', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng\n'
  expect(diffLines(before, before.replace('d', 'D'))).toEqual({
    added: 1,
    removed: 1,
    diff: '@@ -1,7 +1,7 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n',
    truncated: false,
  })
  expect(diffLines('', 'a\n').diff).toBe('@@ -0,0 +1,1 @@\n+a\n')
  expect(diffLines('a', 'a\n').diff).toBe('@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n')
  expect(diffLines('same', 'same')).toEqual({ added: 0, removed: 0, diff: '', truncated: false })
})

test('changes that lie far apart are hunks of their own', () => {
  const lines = Array.from({ length: 40 }, (_, i) => `line ${i}\n`)
  const { diff } = diffLines(lines.join(''), lines.with(2, 'two\n').with(30, 'thirty\n').join(''))
  expect(diff.match(/^@@.*@@$/gm)).toEqual(['@@ -1,6 +1,6 @@', '@@ -28,7 +28,7 @@'])
})

const text = fc.array(fc.constantFrom('a', 'b', 'c', '', '\r'), { maxLength: 14 }).map((lines) => lines.join('\n'))

test('a diff makes the second text of the first, and no shorter one would', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const { diff, added, removed } = diffLines(before, after)
      expect(patched(before, diff)).toBe(after)
      const { common, a, b } = commonLines(before, after)
      expect([removed, added]).toEqual([a - common, b - common])
    }),
    { numRuns: cases(3000) },
  )
})

const numberedLines = (count: number, seed: number): string[] => {
  let state = seed
  return Array.from({ length: count }, () => `${(state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) % 5000}\n`)
}

test.each<[what: string, before: string, after: string]>([
  [
    'nothing in common',
    numberedLines(3000, 1).join(''),
    numberedLines(3000, 2)
      .map((line) => `x${line}`)
      .join(''),
  ],
  ['little in common', numberedLines(6000, 1).join(''), numberedLines(6000, 7).join('')],
  [
    'every other line',
    numberedLines(5000, 3).join(''),
    numberedLines(5000, 3)
      .map((line, i) => (i % 2 ? line : `x${line}`))
      .join(''),
  ],
  ['more lines than are told apart', 'a\n'.repeat(30_000), 'b\na\n'.repeat(15_000) + 'c'],
])('texts with %s have a right diff', (_, before, after) => {
  const { diff, truncated } = diffLines(before, after)
  expect(truncated).toBe(false)
  expect(patched(before, diff) === after).toBe(true)
})

test('the second round goes on where the first one ended', () => {
  const before = numberedLines(10_000, 5)
  const after = before.map((line, i) => (i < 1500 ? `x${line}` : line)).with(9000, 'changed\n')
  const { added, removed } = diffLines(before.join(''), after.join(''))
  expect([added, removed]).toEqual([1501, 1501])
})

const megabytes = 5 * 1024 * 1024

test.each<[what: string, before: string, after: string]>([
  ['line breaks alone', '\n'.repeat(megabytes), '\n\r'.repeat(megabytes / 2)],
  ['one line', 'a'.repeat(megabytes), 'a'.repeat(megabytes - 1) + 'b'],
  [
    'lines in another order',
    Array.from({ length: 10_000 }, (_, i) => `${i}\n`).join(''),
    Array.from({ length: 10_000 }, (_, i) => `${10_000 - i}\n`).join(''),
  ],
  ['the same line, sometimes', 'a\nb\n'.repeat(5000), 'b\nc\nb\n'.repeat(3300)],
])('5 MB of %s come to an end, and what is shown is bounded', (_, before, after) => {
  const { diff, truncated, added, removed } = diffLines(before, after)
  expect(diff.length).toBeLessThan(300 * 1024)
  expect(added + removed).toBeGreaterThan(0)
  if (!truncated) expect(patched(before, diff) === after).toBe(true)
})
