import fc from 'fast-check'
import { expect, test } from 'vitest'
import { renderComplete, renderTemplate } from '../../../src/mail/template/render-template.ts'
import { parseContent, type DeclaredVariable } from '../../../src/mail/template/template-content.ts'
import { anyCharacter } from '../../support/any-character.ts'

const variable = (key: string, type: 'string' | 'number', fallbackValue: string | number | null = null): DeclaredVariable => ({
  key,
  type,
  fallbackValue,
  createdAt: 0,
  updatedAt: 0,
})

const template = (html: string, more: { subject?: string; text?: string; variables?: DeclaredVariable[] } = {}) => ({
  parsed: parseContent({ html, subject: more.subject ?? null, text: more.text ?? null }),
  variables: more.variables ?? [],
})

test('each part is filled in as it needs', () => {
  const greeting = template('<p>{{x}}</p>', { subject: 'Hi {{x}}', text: '{{x}}' })
  expect(renderTemplate(greeting, { x: '<b>\r\nBcc: a@b.example' }, { field: 'variables' })).toEqual({
    subject: 'Hi <b>Bcc: a@b.example',
    html: '<p>&lt;b&gt;\r\nBcc: a@b.example</p>',
    text: '<b>\r\nBcc: a@b.example',
    missing: [],
  })
})

test('a fallback stands for what is left out or null', () => {
  const priced = template('{{a}} {{b}}', { variables: [variable('a', 'string', 'x'), variable('b', 'number', 0)] })
  expect(renderTemplate(priced, {}, { field: 'variables' }).html).toBe('x 0')
  expect(renderTemplate(priced, { a: null, b: null }, { field: 'variables' }).html).toBe('x 0')
  expect(renderTemplate(priced, { a: '', b: 7 }, { field: 'variables' }).html).toBe(' 7')
})

test('what is missing is named, each once; a declared variable must be given even where it is not shown', () => {
  const needy = template('{{b}}{{#list}}{{c}}{{/list}}', { subject: '{{b}}', variables: [variable('a', 'string')] })
  const given = { list: [{}, {}] }
  expect(renderTemplate(needy, given, { field: 'variables' }).missing).toEqual(['a', 'b', 'c'])
  expect(() => renderComplete(needy, given, { field: 'template.variables' })).toThrow(
    expect.objectContaining({
      code: 'missing_template_variable',
      message: 'The template needs a value for a, b, c.',
      faults: [
        expect.objectContaining({ field: 'template.variables.a', code: 'missing' }),
        expect.objectContaining({ field: 'template.variables.b' }),
        expect.objectContaining({ field: 'template.variables.c' }),
      ],
    }),
  )
  expect(renderComplete(needy, { a: 1, b: 2, list: [] }, { field: 'template.variables' }).subject).toBe('2')
})

test.each<[unknown, 'string' | 'number', boolean]>([
  ['7', 'string', true],
  [7, 'string', true],
  [7, 'number', true],
  ['7', 'number', false],
  [true, 'string', false],
  [{}, 'string', false],
  [[1], 'number', false],
])('%j for a %s: %s', (value, type, isTaken) => {
  const typed = template('', { variables: [variable('a', type)] })
  const render = () => renderTemplate(typed, { a: value }, { field: 'variables' })
  if (isTaken) expect(render().missing).toEqual([])
  else
    expect(render).toThrow(
      expect.objectContaining({ code: 'validation_error', faults: [expect.objectContaining({ field: 'variables.a' })] }),
    )
})

test('an object has no text', () => {
  expect(() => renderTemplate(template('{{a}}'), { a: { b: 1 } }, { field: 'variables' })).toThrow(
    expect.objectContaining({ code: 'validation_error', faults: [expect.objectContaining({ field: 'variables.a' })] }),
  )
})

const tag = fc.constantFrom('{{a}}', '{{b.c}}', '{{#list}}{{.}}{{/list}}', '{{#a}}{{.}}{{/a}}', '{{^gone}}{{a}}{{/gone}}', '\n', 'x')
const wild = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.constantFrom('<script>', '"\'>', '\r\nBcc: x@y.example', '&lt;', '{{a}}', '{{{a}}}'),
)

test('no value gets into html as markup, or into the subject as a line', () => {
  fc.assert(
    fc.property(fc.array(tag), wild, wild, fc.array(wild), (tags, a, c, list) => {
      const text = tags.join('')
      const { html, subject } = renderTemplate(
        template(text, { subject: text.replaceAll('\n', ' ') }),
        { a, b: { c }, list },
        { field: 'variables' },
      )
      expect(html).not.toMatch(/[<>"']/)
      expect(subject).not.toMatch(/[\r\n]/)
    }),
  )
})
