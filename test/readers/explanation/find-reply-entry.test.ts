import { expect, test } from 'vitest'
import { mxProviderOf } from '../../../src/mail-out/delivery/mx-provider.ts'
import { readReplyLine } from '../../../src/clients/command/reply-line.ts'
import { findReplyEntry } from '../../../src/readers/explanation/find-reply-entry.ts'
import { replyEntries } from '../../../src/readers/explanation/reply-entries.ts'
import { replyExamples } from './reply-examples.ts'

function entryFor(host: string | null, phase: string | null, text: string): string | undefined {
  const { reply, phase: read } = readReplyLine(JSON.stringify({ host, phase, reply: text }), 'here')
  return findReplyEntry({ ...reply, phase: read, provider: host === null ? null : mxProviderOf(host) })?.id
}

test('each entry has an id of its own and an example', () => {
  expect(Object.keys(replyExamples).toSorted()).toEqual(replyEntries.map(({ id }) => id).toSorted())
})

test.each(Object.entries(replyExamples))('%s decides its example', (id, [host, phase, reply]) => {
  expect(entryFor(host, phase, reply)).toBe(id)
})

test('no pattern repeats without a bound, so the time for a text is in proportion to its length', () => {
  const unbounded = /(?<!\\)(?:[*+]|\{\d+,\})/
  expect(replyEntries.filter(({ words }) => words !== undefined && unbounded.test(words.source)).map(({ id }) => id)).toEqual([])
})
