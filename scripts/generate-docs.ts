/**
 * Writes what is generated from declarations: the example configuration, the list of settings, the list of commands,
 * the causes, the fields of a set-up file, what is stored, the metrics, and the tables of events and of the clients that the peer tests send with.
 * With `--check` it writes nothing and fails where a file differs.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { causesPage } from './docs/causes-page.ts'
import { commandsPage } from './docs/commands-page.ts'
import { exampleFile, settingsPage } from './docs/settings-page.ts'
import { storedDataPage } from './docs/stored-data-page.ts'
import { metricsPage } from './docs/metrics-page.ts'
import { setUpFilePage } from './docs/set-up-page.ts'
import { withClientTable } from './client-table.ts'
import { withEventTable } from './event-table.ts'

const page = (name: string): string => readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8')

const generated = {
  'config/sterna.example.yml': exampleFile(),
  'docs/settings.md': settingsPage(),
  'docs/causes.md': causesPage(),
  'docs/commands.md': commandsPage(),
  'docs/set-up-file.md': setUpFilePage(),
  'docs/stored-data.md': storedDataPage(),
  'docs/metrics.md': metricsPage(),
  'docs/migrating.md': withClientTable(page('migrating.md')),
  'docs/webhooks.md': withEventTable(page('webhooks.md')),
}

for (const [path, wanted] of Object.entries(generated)) {
  const url = new URL(`../${path}`, import.meta.url)
  if (!process.argv.includes('--check')) {
    writeFileSync(url, wanted)
  } else if (readFileSync(url, 'utf8') !== wanted) {
    console.error(`${path} is not what its source says. Run: npm run docs`)
    process.exitCode = 1
  }
}
