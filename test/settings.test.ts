import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { commandsPage } from '../src/clients/command/help-page.ts'
import { environmentNameOf, settingNames } from '../src/platform/config/settings.ts'
import { exampleFile, settingsPage } from '../src/platform/config/settings-documents.ts'
import { metricsPage } from '../src/platform/metrics/metrics-document.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

test('the generated files match their sources (npm run docs)', () => {
  expect(read('config/sterna.example.yml')).toBe(exampleFile())
  expect(read('docs/settings.md')).toBe(settingsPage())
  expect(read('docs/commands.md')).toBe(commandsPage())
  expect(read('docs/metrics.md')).toBe(metricsPage())
})

test('no two settings share an environment variable', () => {
  expect(new Set(settingNames.map(environmentNameOf)).size).toBe(settingNames.length)
})
