// Builds the dashboard into dist/dashboard, from where a server without development tools serves it, and the server into dist/server: one
// script for each thread takes less memory than a thousand modules, and starts faster. bin/built.js says when it runs.
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildDashboard, dashboardOutput } from '../src/api/http/dashboard-bundle.ts'
import { bundle, root, sources, startedModules, type OwnUrls } from './bundle.ts'

async function writeDashboard(): Promise<void> {
  const files = await buildDashboard()
  if (!files) throw new Error('esbuild is not installed: run npm ci, with the development dependencies.')
  rmSync(dashboardOutput, { recursive: true, force: true })
  mkdirSync(dashboardOutput, { recursive: true })
  for (const [name, content] of files) writeFileSync(new URL(name, dashboardOutput), content)
  const size = Array.from(files.values(), ({ length }) => length).reduce((sum, length) => sum + length, 0)
  console.log(`${files.size} files, ${Math.round(size / 1000)} KB, in dist/dashboard`)
}

const output = join(root, 'dist/server')
const outputOf = (module: string): string => module.replace(/^.*\/(.*)\.ts$/, '$1.cjs')

const urls: OwnUrls = {
  ofModule: (name) => `($checkout + ${JSON.stringify(name)})`,
  ofStarted: (name) => `${JSON.stringify(`dist/server/${outputOf(name)}`)}, $checkout`,
}
/** The checkout may be moved. */
const checkout = 'const $checkout = require("node:url").pathToFileURL(__dirname + "/../../").href;'

/** Packages that stay where they are: SQLite with its addon, and those that are large and imported when they are needed. */
const leftOut = [
  'better-sqlite3',
  '@simplewebauthn/server',
  'age-encryption',
  'csv-parse',
  'nodemailer/lib/mail-composer',
  'selfsigned',
  'undici',
]

/** Changes whenever the packages do. */
const packages = 'node_modules/.package-lock.json'

async function writeServer(): Promise<void> {
  // Looked at first: a source that changes while it is built does not match.
  const found = [...sources, packages].map((name) => [name, statSync(join(root, name))] as const)
  rmSync(output, { recursive: true, force: true })
  const entries = ['src/server/main.ts', 'src/platform/server-memory.ts', ...startedModules()]
  const options = { target: 'node22', banner: { js: checkout }, external: leftOut }
  const inside = await Promise.all(entries.map((entry) => bundle(entry, join(output, outputOf(entry)), urls, options)))
  const from = new Set([...inside.flat(), packages])
  const marks = found.flatMap(([name, { size, mtimeMs }]) => (from.has(name) ? [[name, size, mtimeMs]] : []))
  writeFileSync(join(output, 'sources.json'), JSON.stringify(marks))
  console.log(`${entries.length} scripts in dist/server`)
}

await writeDashboard()
await writeServer()
