import { expect, test } from 'vitest'
import { parseTemplate } from '../../../src/mail/template/parse-template.ts'
import { RenderBudget } from '../../../src/mail/template/render-budget.ts'
import { renderNodes } from '../../../src/mail/template/render-nodes.ts'

function render(text: string, data: unknown, escape = true) {
  const parsed = parseTemplate(text)
  if (!parsed.ok) throw new Error(parsed.fault)
  const findings = { missing: new Set<string>(), unprintable: new Set<string>() }
  return { text: renderNodes(parsed.nodes, data, { escape, budget: new RenderBudget(), findings }), ...findings }
}

const item = (name: string, inner?: unknown) => ({ name, inner })

test.each<[what: string, template: string, data: unknown, expected: string]>([
  ['no tag', 'Hello {World}', {}, 'Hello {World}'],
  ['a variable', 'Hello {{name}}!', { name: 'Ann' }, 'Hello Ann!'],
  ['spaces in the tag', '|{{ name }}|{{{ name }}}|{{& name }}|', { name: 'Ann' }, '|Ann|Ann|Ann|'],
  ['escaped', '{{x}}', { x: `<a href="b">'&'` }, '&lt;a href=&quot;b&quot;&gt;&#39;&amp;&#39;'],
  ['raw by three braces', '{{{x}}}', { x: '<b>&"' }, '<b>&"'],
  ['raw by an ampersand', '{{&x}}', { x: '<b>&"' }, '<b>&"'],
  ['a number', '{{n}} {{m}}', { n: 85, m: 1.21 }, '85 1.21'],
  ['a boolean', '{{yes}} {{no}}', { yes: true, no: false }, 'true false'],
  ['null', '[{{x}}]', { x: null }, '[]'],
  ['dots', '{{a.b.c}}', { a: { b: { c: 'deep' } } }, 'deep'],
  ['dots into a list', '{{a.1.b}}', { a: [{}, { b: 'second' }] }, 'second'],
  ['a broken chain is not found outside', '[{{#a}}{{b.c}}{{/a}}]', { a: { b: {} }, b: { c: 'outer' } }, '[]'],
  ['the first of a chain is found outside', '{{#a}}{{b.c}}{{/a}}', { a: { x: 1 }, b: { c: 'outer' } }, 'outer'],
  ['a section of what is true', '{{#yes}}shown{{/yes}}', { yes: true }, 'shown'],
  ...[false, null, undefined, 0, '', []].flatMap((value): [string, string, unknown, string][] => [
    [`a section of ${JSON.stringify(value)}`, '[{{#x}}shown{{/x}}]', { x: value }, '[]'],
    [`inverted, of ${JSON.stringify(value)}`, '[{{^x}}shown{{/x}}]', { x: value }, '[shown]'],
  ]),
  ['inverted, of what is there', '[{{^x}}shown{{/x}}]', { x: { y: 1 } }, '[]'],
  ['a section of an object', '{{#a}}{{b}}{{/a}}', { a: { b: 'inside' } }, 'inside'],
  ['a section of a list', '{{#list}}{{n}},{{/list}}', { list: [{ n: 1 }, { n: 2 }, { n: 3 }] }, '1,2,3,'],
  ['the entry itself', '{{#list}}({{.}}){{/list}}', { list: ['a', 1.5, '<'] }, '(a)(1.5)(&lt;)'],
  ['the entry itself, raw', '{{#list}}({{{.}}}){{/list}}', { list: ['<'] }, '(<)'],
  ['lists in lists', '{{#list}}({{#.}}{{.}}{{/.}}){{/list}}', { list: [[1, 2], [3]] }, '(12)(3)'],
  ['the innermost counts', '{{#a}}{{n}}{{#b}}{{n}}{{/b}}{{n}}{{/a}}', { n: 0, a: { n: 1, b: { n: 2 } } }, '121'],
  ['what is outside is seen inside', '{{#list}}{{.}}{{end}}{{/list}}', { list: ['a', 'b'], end: ';' }, 'a;b;'],
  ['a section of text', '{{#name}}Hi {{.}}{{/name}}', { name: 'Ann' }, 'Hi Ann'],
  ['the same section twice in itself', '{{#a}}1{{#a}}2{{/a}}3{{/a}}', { a: true }, '123'],
  ['a section of a chain', '{{#a.b}}yes{{/a.b}}{{^a.c}}no{{/a.c}}', { a: { b: true } }, 'yesno'],
  ['a comment', 'a{{! not {shown} }}b', {}, 'ab'],
  ['a comment of several lines', 'a{{!\n not\n shown }}b', {}, 'ab'],
  ['a deep list', '{{#l}}{{name}}{{#inner}}({{name}}){{/inner}}{{/l}}', { l: [item('a', item('b')), item('c')] }, 'a(b)c'],
])('%s', (_, template, data, expected) => {
  expect(render(template, data).text).toBe(expected)
})

test.each<[what: string, template: string, expected: string]>([
  ['section tags on lines of their own', 'a\n{{#yes}}\nb\n{{/yes}}\nc', 'a\nb\nc'],
  ['indented', 'a\n  {{#yes}}\n  b\n\t{{/yes}}  \nc', 'a\n  b\nc'],
  ['CRLF', 'a\r\n{{#yes}}\r\nb\r\n{{/yes}}\r\nc', 'a\r\nb\r\nc'],
  ['inverted', 'a\n{{^no}}\nb\n{{/no}}\nc', 'a\nb\nc'],
  ['without a line before or after', '{{#yes}}\nb\n{{/yes}}', 'b\n'],
  ['without a line break at the end', '#{{#yes}}\n/\n  {{/yes}}', '#\n/\n'],
  ['a comment', 'a\n  {{! nothing }}\nb', 'a\nb'],
  ['a comment of several lines', 'a\n{{!\n nothing\n}}\nb', 'a\nb'],
  ['two tags on a line are not alone', 'a\n{{#yes}}{{/yes}}\nb', 'a\n\nb'],
  ['a tag behind text is not alone', 'a {{! x }}\nb', 'a \nb'],
  ['a tag before text is not alone', '  {{! x }} b\n', '   b\n'],
  ['a variable leaves its line', 'a\n  {{n}}\nb', 'a\n  1\nb'],
  ['a tag behind a standalone one', '{{#yes}}\n{{#yes}}\nx\n{{/yes}}\n{{/yes}}\n', 'x\n'],
  ['an inline section keeps its white space', ' | {{#yes}}\t|\t{{/yes}} | \n', ' | \t|\t | \n'],
])('lines: %s', (_, template, expected) => {
  expect(render(template, { yes: true, no: false, n: 1 }).text).toBe(expected)
})

test('for text nothing is escaped', () => {
  expect(render('{{x}}', { x: '<&' }, false).text).toBe('<&')
})

test('what has no value, and what has no text, is told by name', () => {
  const data = { list: [{ a: 1 }, {}], empty: null, object: {} }
  const { missing, unprintable } = render('{{#list}}{{a}}{{/list}}{{b.c}}{{#gone}}{{x}}{{/gone}}{{empty}}{{object}}{{list}}{{.}}', data)
  expect([...missing]).toEqual(['a', 'b.c'])
  expect([...unprintable]).toEqual(['object', 'list', '.'])
})

test.each(['__proto__', 'constructor', 'constructor.name', 'toString', 'hasOwnProperty', 'list.map', 'name.length', 'list.0.constructor'])(
  '%s is nothing that the data has',
  (name) => {
    expect(render(`[{{${name}}}{{#${name}}}x{{/${name}}}]`, { name: 'Ann', list: ['a'] })).toMatchObject({
      text: '[]',
      missing: new Set([name]),
    })
  },
)

test('data may have names that are special elsewhere', () => {
  expect(render('{{__proto__.x}}{{constructor}}', JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}')).text).toBe('12')
})

test.each<[what: string, template: string, data: unknown]>([
  ['a list of a million', '{{#list}}{{/list}}', { list: Array(1_000_000).fill(1) }],
  ['lists in one another', '{{#l}}{{#l}}{{#l}}{{#l}}x{{/l}}{{/l}}{{/l}}{{/l}}', { l: Array(1000).fill(1) }],
  ['long text, repeated', '{{#l}}{{{text}}}{{/l}}', { l: Array(1000).fill(1), text: 'x'.repeat(64_000) }],
  ['text that grows when escaped', '{{text}}', { text: '"'.repeat(5_000_000) }],
  [
    'names that are looked for in vain',
    `${'{{#a}}'.repeat(30)}{{#l}}{{b}}{{/l}}${'{{/a}}'.repeat(30)}`,
    { a: {}, l: Array(50_000).fill({}) },
  ],
])('%s comes to an end', (_, template, data) => {
  expect(() => render(template, data)).toThrow(expect.objectContaining({ code: 'validation_error' }))
})
