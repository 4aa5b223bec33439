import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SternaError } from '../../../src/platform/errors.ts'
import { findSources, type FoundSource } from '../../../src/mail/template/find-sources.ts'
import { parseTemplate } from '../../../src/mail/template/parse-template.ts'
import { renderTemplate } from '../../../src/mail/template/render-template.ts'
import { parseContent, type DeclaredVariable } from '../../../src/mail/template/template-content.ts'
import { templateWork } from '../../../src/mail/template/template-work.ts'
import { cases } from '../../support/cases.ts'

interface Written {
  html: string
  text?: string | null
  layout?: string | null
  variables?: DeclaredVariable[]
}

const variable = (key: string, fallbackValue: string | null = null): DeclaredVariable => ({
  key,
  type: 'string',
  fallbackValue,
  createdAt: 0,
  updatedAt: 0,
})

const sourceOf = (name: string, { html, text = null, layout = null, variables = [] }: Written): FoundSource => {
  const written = { id: `tpl_${name}`, versionId: `tplv_${name}`, html, text, layout, variables }
  return { ...written, partials: templateWork.partials(written) }
}

/** Resolves the template `root` among others, all of them published. */
async function resolve(root: Written, others: Record<string, Written | 'unpublished'> = {}, reads: string[] = []) {
  const source = sourceOf('root', root)
  const found = await findSources(source, async (name) => {
    reads.push(name)
    if (name === 'root') return source
    const other = others[name]
    if (other === undefined) throw new SternaError('template_not_found', 'none')
    if (other === 'unpublished') throw new SternaError('template_not_published', 'none')
    return sourceOf(name, other)
  })
  return templateWork.resolve(source, [...found])
}

const faultOf = (resolved: Promise<unknown>) =>
  resolved.then(
    () => 'none',
    (error: SternaError) => ({ code: error.code, fault: error.faults?.[0]?.code, message: error.message }),
  )

test('a layout stands around a template, partials stand in both', async () => {
  const page = { html: '<p>Hello {{name}}</p>\n', text: 'Hello {{name}}\n', layout: 'frame' }
  const frame = { html: '<body>\n{{> head}}\n{{{@content}}}\n</body>\n', text: '{{> head}}\n\n{{{@content}}}\n-- \nShop\n' }
  const head = { html: '<h1>Shop</h1>\n', text: 'SHOP\n' }
  expect(await resolve(page, { frame, head })).toMatchObject({
    html: '<body>\n<h1>Shop</h1>\n<p>Hello {{name}}</p>\n</body>\n',
    text: 'SHOP\n\nHello {{name}}\n-- \nShop\n',
  })
})

test('layouts may have layouts', async () => {
  const others = { inner: { html: '[{{{@content}}}]', layout: 'outer' }, outer: { html: '<{{{@content}}}>' } }
  expect((await resolve({ html: 'x', layout: 'inner' }, others)).html).toBe('<[x]>')
})

test('a text that is made from the html, or that there is none of, stays so; a layout without a text leaves it alone', async () => {
  const frame = { html: '<{{{@content}}}>', text: '({{{@content}}})' }
  expect((await resolve({ html: 'x', layout: 'frame' }, { frame })).text).toBeNull()
  expect((await resolve({ html: 'x', text: '', layout: 'frame' }, { frame })).text).toBe('')
  expect((await resolve({ html: 'x', text: 'y', layout: 'frame' }, { frame: { html: frame.html } })).text).toBe('y')
  expect((await resolve({ html: 'x', text: 'y', layout: 'frame' }, { frame: { html: frame.html, text: '' } })).text).toBe('y')
})

test('what a template itself has in the place of a content is left alone', async () => {
  expect((await resolve({ html: '{{{@content}}}!', layout: 'frame' }, { frame: { html: '<{{{ @content }}}>' } })).html).toBe(
    '<{{{@content}}}!>',
  )
})

test('variables are declared by all, and the own declaration counts', async () => {
  const others = {
    frame: { html: '{{{@content}}}{{> foot}}', variables: [variable('a', 'frame'), variable('b', 'frame')] },
    foot: { html: '', variables: [variable('b', 'foot'), variable('c')] },
  }
  const { variables } = await resolve({ html: '', layout: 'frame', variables: [variable('a', 'own')] }, others)
  expect(variables.map(({ key, fallbackValue }) => [key, fallbackValue])).toEqual([
    ['a', 'own'],
    ['b', 'frame'],
    ['c', null],
  ])
})

test.each<[what: string, root: Written, others: Record<string, Written | 'unpublished'>, fault: string, message: RegExp]>([
  ['no such partial', { html: '{{> gone}}' }, {}, 'template_not_found', /\{\{> gone\}\} does not exist/],
  ['no such layout', { html: '', layout: 'gone' }, {}, 'template_not_found', /The layout gone does not exist/],
  [
    'a partial that has never been published',
    { html: '{{> a}}' },
    { a: 'unpublished' },
    'template_not_published',
    /\{\{> a\}\} has never been published\. Publish it first/,
  ],
  [
    'a partial of a partial that is missing',
    { html: '{{> a}}' },
    { a: { html: '{{> b}}' } },
    'template_not_found',
    /\{\{> b\}\} does not exist/,
  ],
  ['a template in itself', { html: '{{> root}}' }, {}, 'circle', /contains itself: root/],
  [
    'a circle of partials',
    { html: '{{> a}}' },
    { a: { html: '{{> b}}' }, b: { html: '{{> c}}' }, c: { html: '{{> a}}' } },
    'circle',
    /a > b > c > a/,
  ],
  ['a layout of itself', { html: '', layout: 'root' }, {}, 'circle', /layout root contains itself/],
  [
    'a circle of layouts',
    { html: '', layout: 'a' },
    { a: { html: '{{{@content}}}', layout: 'b' }, b: { html: '{{{@content}}}', layout: 'a' } },
    'circle',
    /layout a contains/,
  ],
  [
    'a layout without a place',
    { html: '', layout: 'a' },
    { a: { html: '{{content}}' } },
    'no_content_place',
    /html of the layout a has no \{\{\{@content\}\}\}/,
  ],
  [
    'a layout with two places',
    { html: '', layout: 'a' },
    { a: { html: '{{{@content}}}{{> b}}' }, b: { html: '{{{@content}}}' } },
    'no_content_place',
    /more than one/,
  ],
  [
    'a layout whose text has no place',
    { html: '', text: 'x', layout: 'a' },
    { a: { html: '{{{@content}}}', text: 'x' } },
    'no_content_place',
    /text of the layout a has no/,
  ],
  ['a partial without a text', { html: '', text: '{{> a}}' }, { a: { html: 'x' } }, 'no_text', /\{\{> a\}\} has no text of its own/],
  ['a tag of two templates', { html: '{{> a}}{x}}' }, { a: { html: '{' } }, 'none', /./],
  [
    'a section of two templates',
    { html: '{{> a}}{> b}}' },
    { a: { html: '{' }, b: { html: '' } },
    'invalid_template',
    /begins in one template and ends in another/,
  ],
  ['a tag without an end', { html: '{{> a}}{x' }, { a: { html: '{' } }, 'invalid_template', /cannot be read at line 1/],
  [
    'too many variables',
    { html: '{{> a}}', variables: Array.from({ length: 30 }, (_, i) => variable(`a${i}`)) },
    { a: { html: '', variables: Array.from({ length: 30 }, (_, i) => variable(`b${i}`)) } },
    'too_many',
    /more than 50 variables/,
  ],
  ['too many tags', { html: '{{> a}}{{> a}}' }, { a: { html: '{{x}}'.repeat(15_000) } }, 'invalid_template', /more than 20000 tags/],
  [
    'sections too deep',
    { html: '{{#x}}'.repeat(20) + '{{> a}}' + '{{/x}}'.repeat(20) },
    { a: { html: '{{#x}}'.repeat(20) + '{{/x}}'.repeat(20) } },
    'invalid_template',
    /more than 32 deep/,
  ],
  [
    'partials too deep',
    { html: '{{> p0}}' },
    Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`p${i}`, { html: i < 11 ? `{{> p${i + 1}}}` : '' }])),
    'too_deep',
    /more than 10 deep/,
  ],
  [
    'layouts too deep',
    { html: '', layout: 'l0' },
    Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`l${i}`, { html: '{{{@content}}}', layout: i < 11 ? `l${i + 1}` : null }])),
    'too_deep',
    /Layouts are nested more than 10 deep/,
  ],
  ['too many partials', { html: '{{> a}}'.repeat(1001) }, { a: { html: '' } }, 'too_many', /more than 1000 partials/],
  ['too long', { html: '{{> a}}'.repeat(6) }, { a: { html: 'x'.repeat(1024 * 1024) } }, 'too_long', /would exceed 5 MiB/],
  ['too long in bytes', { html: '{{> a}}'.repeat(3) }, { a: { html: 'ä'.repeat(1024 * 1024) } }, 'too_long', /would exceed 5 MiB/],
])('%s', async (_, root, others, fault, message) => {
  const found = await faultOf(resolve(root, others))
  if (fault === 'none') return expect(found).toBe('none')
  expect(found).toMatchObject({ code: 'validation_error', fault, message: expect.stringMatching(message) })
})

/** Each is told by its number what the next ones are called. */
const multiplying = (levels: number, each: number, end: string): Record<string, Written> =>
  Object.fromEntries(
    Array.from({ length: levels }, (_, i): [string, Written] => {
      const html = i + 1 < levels ? `{{> p${i + 1}}}`.repeat(each) : end
      return [`p${i}`, { html, text: html }]
    }),
  )

test.each(['lol', ''])('partials that multiply one another ten times ten times are refused without being put together: %j', async (end) => {
  const reads: string[] = []
  const found = await faultOf(resolve({ html: '{{> p0}}', text: '{{> p0}}', layout: 'p1' }, multiplying(10, 10, end), reads))
  expect(found).toMatchObject({ code: 'validation_error' })
  expect(new Set(reads).size).toBe(10)
})

test('the templates that one is put together of are counted, and their lengths', async () => {
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`p${i}`, { html: '' }]))
  expect(
    await faultOf(
      resolve(
        {
          html: Object.keys(many)
            .map((name) => `{{> ${name}}}`)
            .join(''),
        },
        many,
      ),
    ),
  ).toMatchObject({ message: expect.stringMatching(/at most 100 other templates/) })
  const long = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`p${i}`, { html: 'x'.repeat(5 * 1024 * 1024) }]))
  const reads: string[] = []
  expect(
    await faultOf(
      resolve(
        {
          html: Object.keys(long)
            .map((name) => `{{> ${name}}}`)
            .join(''),
        },
        long,
        reads,
      ),
    ),
  ).toMatchObject({ message: expect.stringMatching(/too long together/) })
  expect(reads).toHaveLength(5)
})

const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      '<p>',
      'text',
      '\n',
      '\r\n',
      '  ',
      '{{a}}',
      '{{{a}}}',
      '{{#l}}',
      '{{/l}}',
      '{{^l}}',
      '{{.}}',
      '{{! c }}',
      '{{> p0}}',
      '{{> p1}}',
      '{{> p2}}',
      '{{>p3}}',
      '{{> p4 }}',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('{', '}', '>') },
)
const isReadable = (text: string): boolean => parseTemplate(text).ok
const written = fc
  .array(piece, { maxLength: 8 })
  .map((pieces) => pieces.join(''))
  .filter(isReadable)
const layoutText = fc
  .tuple(written, written)
  .map(([head, foot]) => `${head}{{{@content}}}${foot}`)
  .filter((text) => isReadable(text) && text.split('@content').length === 2)

/** By hand: the tags are replaced from the inside, and what is inserted loses the line break at its end. */
function inlined(text: string, partials: string[], from = 0): string {
  return text.replace(/\{\{> ?p(\d) ?\}\}/g, (tag, number: string) =>
    Number(number) < from ? tag : inlined(withoutEnd(partials[Number(number)] as string), partials, Number(number) + 1),
  )
}
const withoutEnd = (text: string): string => text.replace(/\r?\n$/, '')

test('what is published with a layout and partials is rendered like the same put together by hand', async () => {
  let compared = 0
  await fc.assert(
    fc.asyncProperty(written, layoutText, fc.array(written, { minLength: 5, maxLength: 5 }), async (page, frame, given) => {
      // Each names later ones only: there are no circles.
      const partials = given.map((text, i) => text.replace(/\{\{> ?p(\d) ?\}\}/g, (tag, number: string) => (Number(number) > i ? tag : '')))
      fc.pre(partials.every(isReadable))
      const others = Object.fromEntries(partials.map((html, i) => [`p${i}`, { html, text: html }]))
      const byHand = inlined(frame, partials).replace('{{{@content}}}', () => inlined(withoutEnd(page), partials))
      const resolved = await resolve({ html: page, text: page, layout: 'frame' }, { ...others, frame: { html: frame, text: frame } }).catch(
        (error: SternaError) => error,
      )
      const parsed = parseTemplate(byHand)
      if (resolved instanceof Error) {
        expect(!parsed.ok || parsed.insertions.some(({ name }) => name !== null)).toBe(true)
        return
      }
      compared++
      const data = { a: '<A>', l: ['x', 'y'] }
      const render = (html: string, text: string | null) => {
        try {
          return renderTemplate({ parsed: parseContent({ subject: null, html, text }), variables: [] }, data, { field: 'variables' })
        } catch (error) {
          return (error as SternaError).message
        }
      }
      expect(resolved.html).toBe(byHand)
      if (page !== '') expect(render(resolved.html, resolved.text)).toEqual(render(byHand, byHand))
    }),
    { numRuns: cases(2000) },
  )
  expect(compared).toBeGreaterThan(cases(500))
})
