import { expect, test } from 'vitest'
import { plainValue, readYaml, yamlText } from '../../../src/platform/config/yaml-tree.ts'

const read = (source: string) => {
  const faults: string[] = []
  const tree = readYaml(source, (line, message) => faults.push(`${line}: ${message}`))
  return { value: tree && plainValue(tree), faults }
}

test('each part has its line, and the value is what YAML says', () => {
  const tree = readYaml('a: 1\nb:\n  - x\n  - {c: null}\n', () => {})
  expect(tree).toEqual({
    line: 1,
    entries: [
      { key: 'a', line: 1, node: { line: 1, value: 1 } },
      {
        key: 'b',
        line: 2,
        node: {
          line: 3,
          items: [
            { line: 3, value: 'x' },
            { line: 4, entries: [{ key: 'c', line: 4, node: { line: 4, value: null } }] },
          ],
        },
      },
    ],
  })
  expect(read('')).toEqual({ value: null, faults: [] })
  expect(read('a: &x [1]\nb: *x')).toEqual({ value: { a: [1], b: [1] }, faults: [] })
})

test('syntax errors, and keys that are given twice, are told with their line', () => {
  expect(read('a: 1\na: 2').faults).toEqual(['2: Map keys must be unique.'])
  expect(read("a: {1: x, b: y, '1': z, b: y}\nb: 1").faults).toEqual(Array(2).fill('1: Map keys must be unique.'))
  expect(read('a: [1').faults).toEqual([expect.stringMatching(/^\d: /)])
})

test('anchors that would fill the memory end soon', () => {
  const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(', ')}]`)
  expect(read(['l0: &l0 [1]', ...levels].join('\n')).faults).toEqual([expect.stringContaining('too many values')])
  expect(read('a: &a [*a]').faults[0]).toMatch(/nested too deeply/)
})

test('what is written is read as the same, with its comment', () => {
  const value = { text: 'two\nlines\n', tricky: ['none', '1e5', 'a: b', '', '0123'], map: { of: null } }
  const text = yamlText(value, 'A comment\nof two lines')
  expect(text).toMatch(/^# A comment\n# of two lines\n\ntext: \|\n {2}two\n/)
  expect(read(text).value).toEqual(value)
})
