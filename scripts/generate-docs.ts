/**
 * Writes what is generated from declarations: the example configuration, the list of settings, the list of commands,
 * the fields of a set-up file, what is stored, the metrics, and the tables of events and of the clients that the peer tests send with.
 * With `--check` it writes nothing and fails where a file differs.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { commandsPage } from '../src/clients/command/help-page.ts'
import { exampleFile, settingsPage } from '../src/platform/config/settings-documents.ts'
import { storedDataPage } from '../src/upkeep/erasure/stored-data.ts'
import { metricsPage } from '../src/platform/metrics/metrics-document.ts'
import { setUpFilePage } from '../src/clients/set-up/set-up-document.ts'
import { withClientTable } from './client-table.ts'
import { withEventTable } from './event-table.ts'

const page = (name: string): string => readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8')

const generated = {
  'config/sterna.example.yml': exampleFile(),
  'docs/settings.md': settingsPage(),
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
