import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { de } from '../../../src/clients/dashboard/texts/de.ts'
import { en } from '../../../src/clients/dashboard/texts/en.ts'

const root = join(import.meta.dirname, '../../../src/clients/dashboard')
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.startsWith('texts'))
  .map((name) => readFileSync(join(root, name), 'utf8'))
  .join('\n')

/** Texts by section and name. Sections whose texts are looked up by names of the API are left out. */
const texts = Object.entries(en).flatMap(([section, each]) =>
  typeof each !== 'object' || each === null || Array.isArray(each) || new RegExp(`\\bt\\.${section}\\??\\.?\\[`).test(sources)
    ? []
    : Object.entries(each).map(([name, text]: [string, unknown]) => ({
        name: `${section}.${name}`,
        text,
        german: (de as unknown as Record<string, Record<string, unknown>>)[section]?.[name],
      })),
)

test('every text is shown somewhere', () => {
  expect(texts.length).toBeGreaterThan(500)
  expect(texts.map(({ name }) => name).filter((name) => !new RegExp(`\\bt\\.${name}\\b`).test(sources))).toEqual([])
})

test('no text stands twice with the same words in both languages', () => {
  const said = Map.groupBy(
    texts.filter(({ text }) => typeof text === 'string'),
    ({ text, german }) => `${text} / ${german}`,
  )
  expect([...said.values()].filter(({ length }) => length > 1).map((same) => same.map(({ name }) => name).join(' '))).toEqual([])
})
