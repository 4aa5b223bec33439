import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aboutFiles, hasDatabase } from './support/tests-on-postgres.ts'

test.each(aboutFiles)('$file has what is left out on PostgreSQL', ({ file, tests = [] }) => {
  expect(hasDatabase(file)).toBe(true)
  const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8')
  const isThere = (name: string): boolean => [`test('${name}'`, `test("${name}"`].some((beginning) => text.includes(beginning))
  expect(tests.filter((name) => !isThere(name))).toEqual([])
})
