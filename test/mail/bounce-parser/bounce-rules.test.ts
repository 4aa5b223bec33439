import { readFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { BounceRules, type BounceRuleSource } from '../../../src/mail/bounce-parser/bounce-rules.ts'
import type { Refusal } from '../../../src/mail/bounce-parser/refusal.ts'

const source = JSON.parse(readFileSync(new URL('../../../config/bounce-rules.json', import.meta.url), 'utf8')) as BounceRuleSource
const rules = new BounceRules(source)
const { all } = rules
const codes = source.enhancedStatuses.map(({ code }) => code)
const refusal = (some: Partial<Refusal>): Refusal => ({
  code: null,
  enhancedStatus: null,
  text: '',
  remoteHost: null,
  phase: 'rcpt',
  ...some,
})

describe('each rule decides its example', () => {
  it.each(all.map((rule) => [rule.name, rule] as const))('%s', (name, rule) => {
    const examples = [rule.example, ...Object.values(rule.languages ?? {}).map(({ example }) => example)].filter(
      (example) => example !== undefined,
    )
    expect(examples).not.toEqual([])
    for (const example of examples) expect([example, rules.deciding(refusal(example))]).toEqual([example, rule])
    expect(all.filter((each) => each.name === name)).toHaveLength(1)
  })
})

test('refuses rules with invalid phrases or unknown terms', () => {
  const withPhrase = (phrase: string) =>
    new BounceRules({ ...source, rules: [{ name: 'a', says: [phrase], category: 'other', hard: false }] })
  expect(() => withPhrase('user unknown')).not.toThrow()
  expect(() => withPhrase('user …')).toThrow(RangeError)
  expect(() => withPhrase('$nobody unknown')).toThrow(RangeError)
})

test('the last rule matches everything and is soft', () => {
  const { name: _, example, ...rest } = all.at(-1) ?? { name: '', example: null }
  expect(rest).toEqual({ category: 'other', hard: false })
  expect(example).not.toBeNull()
})

test('codes are hard only if the address or its domain does not exist, has moved, or accepts no mail', () => {
  const hard = codes.filter((code) => rules.classify(refusal({ code: 550, enhancedStatus: `5.${code}` })).hard)
  expect(hard).toEqual(['1.1', '1.2', '1.3', '1.6', '1.10'])
  expect(codes.filter((code) => rules.classify(refusal({ code: 450, enhancedStatus: `4.${code}` })).hard)).toEqual([])
})

test('every code of RFC 3463 and its extensions has a meaning', () => {
  const ofSubject = [1, 11, 5, 7, 8, 7, 11, 31]
  expect(codes).toEqual(ofSubject.flatMap((count, subject) => Array.from({ length: count }, (_, detail) => `${subject}.${detail}`)))
})

test('an unregistered code means the same as its subject', () => {
  expect(rules.classify(refusal({ code: 550, enhancedStatus: '5.7.999' }))).toEqual({ category: 'policy', hard: false })
  expect(rules.classify(refusal({ code: 550, enhancedStatus: '5.99.1', text: 'what', phase: 'report' }))).toEqual({
    category: 'other',
    hard: false,
  })
})
