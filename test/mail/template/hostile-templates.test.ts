import { expect, test } from 'vitest'
import { parseTemplate } from '../../../src/mail/template/parse-template.ts'
import { OverBudget } from '../../../src/mail/template/render-budget.ts'
import { renderTemplate } from '../../../src/mail/template/render-template.ts'
import { parseContent } from '../../../src/mail/template/template-content.ts'

const megabytes = 5 * 1024 * 1024
const fill = (piece: string): string => piece.repeat(Math.floor(megabytes / piece.length))

const render = (html: string, data: Record<string, unknown>) =>
  renderTemplate({ parsed: parseContent({ subject: null, html, text: null }), variables: [] }, data, { field: 'variables' })

test.each<[what: string, text: string]>([
  ['open tags', fill('{{')],
  ['open tags with room in them', fill('{{ ')],
  ['triple braces that end as double ones', fill('{{{x}}')],
  ['braces that open and close at once', fill('{{}}')],
  ['a name without end', `{{${fill('a.')}}}`],
  ['a section that is closed by a long name', `{{#a}}{{/${fill('b')}}}`],
  ['a comment of white space', `{{!${fill(' ')}}}`],
  ['white space before each tag', `${' '.repeat(200)}{{! x }}`.repeat(20_000)],
  ['white space behind each tag', `{{! x }}${' '.repeat(200)}`.repeat(20_000)],
  ['lines of white space', fill(' \t\n')],
  ['a partial without a name', `{{>${fill(' ')}}}`],
  ['words of Handlebars', `{{#each ${fill('a ')}}}`],
])('5 MB: %s. They are read, or refused in few words', (_, text) => {
  // What took time by the square would not end within that of a test.
  const parsed = parseTemplate(text)
  if (!parsed.ok) expect(parsed.fault.length).toBeLessThan(1000)
})

const cyclic: Record<string, unknown> = { name: 'x' }
cyclic['self'] = cyclic
cyclic['list'] = [cyclic, cyclic]

test.each<[what: string, html: string, data: Record<string, unknown>]>([
  ['a million entries', '{{#l}}{{/l}}', { l: Array(1_000_000).fill(1) }],
  ['data that holds itself, gone through again and again', `${'{{#list}}'.repeat(30)}x${'{{/list}}'.repeat(30)}`, cyclic],
  ['50 MB of output', '{{#l}}{{{x}}}{{/l}}', { l: Array(800).fill(1), x: 'x'.repeat(64 * 1024) }],
  ['50 MB of output that is escaped', '{{#l}}{{x}}{{/l}}', { l: Array(800).fill(1), x: '"'.repeat(64 * 1024) }],
  [
    'names that are looked for in vain',
    `${'{{#a}}'.repeat(30)}{{#l}}{{b.c.d}}{{/l}}${'{{/a}}'.repeat(30)}`,
    { a: {}, l: Array(50_000).fill({}) },
  ],
  ['lists in lists', '{{#l}}{{#l}}{{#l}}{{#l}}{{.}}{{/l}}{{/l}}{{/l}}{{/l}}', { l: Array(1000).fill('x') }],
])('%s: the rendering ends', (_, html, data) => {
  const parsed = parseContent({ subject: null, html, text: null })
  expect(() => renderTemplate({ parsed, variables: [] }, data, { field: 'variables' })).toThrow(OverBudget)
})

test('data that holds itself is followed as far as its names go', () => {
  expect(render('{{self.self.self.name}}', cyclic).html).toBe('x')
})

test.each([
  '{{constructor.constructor}}',
  '{{{constructor.constructor}}}',
  '{{__proto__}}',
  '{{__proto__.polluted}}',
  '{{#__proto__}}x{{/__proto__}}',
  '{{toString}}',
  '{{l.map}}',
  '{{l.constructor.name}}',
  '{{s.length}}',
  '{{s.0}}',
  '{{#s}}{{length}}{{/s}}',
  '{{#constructor}}{{prototype}}{{/constructor}}',
  '{{n.toFixed}}',
])('%s shows nothing', (html) => {
  const { html: shown, missing } = render(html, { l: [1], s: 'text', n: 1 })
  expect(shown).toBe('')
  expect(missing.length + Number(html.includes('#'))).toBeGreaterThan(0)
})

test.each([
  '{{constructor.constructor("return process")()}}',
  '{{#with (lookup . "constructor")}}{{/with}}',
  '{{x|raw}}',
  '{{x()}}',
  '{{[x]}}',
  '{{../x}}',
  '{{@root.x y}}',
  '{{*decorator}}',
  '{{%PRAGMA}}',
])('%s is no template', (html) => {
  expect(parseTemplate(html).ok).toBe(false)
})

test('data changes nothing of what objects inherit', () => {
  const data = JSON.parse('{"__proto__": {"polluted": "yes"}, "constructor": {"prototype": {"polluted": "yes"}}}') as Record<
    string,
    unknown
  >
  render('{{__proto__.polluted}}{{constructor.prototype.polluted}}', data)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})
