import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseTemplate } from '../../../src/mail/template/parse-template.ts'
import { cases } from '../../support/cases.ts'

const faultOf = (text: string): string => {
  const parsed = parseTemplate(text)
  return parsed.ok ? 'none' : `${parsed.line}: ${parsed.fault}`
}

test.each([
  ['Hello {{name', 'line 1', /^1: \{\{name is never closed\. Write \}\}/],
  ['Hello\n{{{name}}', 'line 2', /^2: .*is never closed\. Write \}\}\}/],
  ['a\nb {{#items}}\nc', 'line 2', /^2: \{\{#items\}\} is never closed\. Write \{\{\/items\}\} where it ends/],
  ['a\n\n{{/items}}', 'line 3', /^3: \{\{\/items\}\} closes a section that was not opened/],
  ['{{#a}}\n{{#b}}\n{{/a}}\n{{/b}}', 'line 3', /^3: \{\{\/a\}\} comes while \{\{#b\}\} is still open\. Write \{\{\/b\}\} before it/],
  ['{{#each items}}{{/each}}', 'a helper of Handlebars', /Write \{\{#items\}\}…\{\{\/items\}\}/],
  ['a\n{{> the footer}}', 'a partial of no name', /^2: .* names no template\. Write the alias/],
  ['{{>}}', 'a partial without a name', /names no template/],
  [`{{/${'a'.repeat(300)}}}`, 'a long name that was not opened', /Write \{\{#a{60}…\}\} where it begins/],
  ['{{=<% %>=}}', 'other delimiters', /the delimiters are always/],
  ['{{}}', 'no name', /no valid name/],
  ['{{a b}}', 'a name with a space', /no valid name/],
  ['{{a..b}}', 'a name with a hole', /no valid name/],
  ['{{a.}}', 'a name that ends with a dot', /no valid name/],
  ['{{ {a: 1} }}', 'an object', /no valid name/],
  [`{{${'a'.repeat(201)}}}`, 'a name without end', /^1: \{\{a{58}… has no valid name/],
  ['{{#a}}'.repeat(33) + '{{/a}}'.repeat(33), 'sections too deep', /nested more than 32 deep/],
  ['{{a}}'.repeat(20_001), 'too many tags', /more than 20000 tags/],
])('%j: %s', (text, _, fault) => {
  expect(faultOf(text)).toMatch(fault)
})

test('braces of style sheets and scripts are text', () => {
  expect(parseTemplate('@media x { a { b: c }} {"a":{"b":1}} }} }')).toMatchObject({ ok: true })
  expect(parseTemplate('{{#a}}'.repeat(32) + '{{/a}}'.repeat(32))).toMatchObject({ ok: true })
})

const piece = fc.oneof(
  fc.constantFrom(
    '{{',
    '}}',
    '{{{',
    '}}}',
    '{',
    '}',
    '{{#a}}',
    '{{^a}}',
    '{{/a}}',
    '{{a.b}}',
    '{{.}}',
    '{{! x }}',
    '{{&a}}',
    '\n',
    '\r\n',
    ' ',
    '>',
    '=',
  ),
  fc.string({ maxLength: 5 }),
)

test('any text is a template, or has a fault at one of its lines', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join('')
      const parsed = parseTemplate(text)
      if (parsed.ok) return
      expect(parsed.fault).not.toBe('')
      expect(parsed.line).toBeGreaterThanOrEqual(1)
      expect(parsed.line).toBeLessThanOrEqual(text.split('\n').length)
    }),
    { numRuns: cases(300) },
  )
})

test.each(['{{> footer}}', '{{>footer}}', '{{ >  footer }}', '{{&gt; footer}}'])('%s is a partial', (tag) => {
  expect(parseTemplate(`a${tag}b`)).toEqual({ ok: true, nodes: ['a', 'b'], insertions: [{ name: 'footer', at: 1, end: 1 + tag.length }] })
})

test('text without tags stays as it is', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!text.includes('{{'))
      expect(parseTemplate(text)).toEqual({ ok: true, nodes: text === '' ? [] : [text], insertions: [] })
    }),
  )
})
