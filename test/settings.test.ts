import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { causesPage } from '../scripts/docs/causes-page.ts'
import { commandsPage } from '../scripts/docs/commands-page.ts'
import { camelCase, environmentNameOf, settingNames } from '../src/platform/config/settings.ts'
import { exampleFile, settingsPage } from '../scripts/docs/settings-page.ts'
import { metricsPage } from '../scripts/docs/metrics-page.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

test('the generated files match their sources (npm run docs)', () => {
  expect(read('config/sterna.example.yml')).toBe(exampleFile())
  expect(read('docs/settings.md')).toBe(settingsPage())
  expect(read('docs/causes.md')).toBe(causesPage())
  expect(read('docs/commands.md')).toBe(commandsPage())
  expect(read('docs/metrics.md')).toBe(metricsPage())
})

test('no two settings share an environment variable', () => {
  expect(new Set(settingNames.map(environmentNameOf)).size).toBe(settingNames.length)
})

test('every setting is read somewhere', () => {
  const sources = readdirSync(new URL('../src', import.meta.url), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('clients/dashboard') && !file.endsWith('config/settings.ts'))
    .map((file) => read(`src/${file}`))
    .join('\n')
  const words = new Set(sources.match(/\b[a-z]\w*/g))
  expect(settingNames.filter((name) => !name.split('.').every((part) => words.has(camelCase(part))))).toEqual([])
})
