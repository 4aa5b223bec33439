/**
 * Builds the dashboard into dist/dashboard, from where a server without development tools serves it, and the server into dist/server: one
 * script for each thread takes less memory than a thousand modules, and starts faster. bin/built.js says when it runs.
 *
 * npm run build
 * npm run build -- --server                 the server only
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildDashboard, dashboardOutput } from '../src/api/http/dashboard-bundle.ts'
import { bundleScripts, root, sources, startedModules } from './bundle.ts'

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
/** Names the last build, and what it was made from. */
const current = join(output, 'current.json')

/** What else decides what is built; the last changes whenever the packages do. */
const builders = ['scripts/build.ts', 'scripts/bundle.ts', 'node_modules/.package-lock.json']

/** A running server starts threads and child processes from its own build for as long as it runs. */
const keptBuilds = 5

async function writeServer(): Promise<void> {
  // Looked at first: a source that changes while it is built does not match.
  const found = [...sources, ...builders].map((name) => [name, statSync(join(root, name))] as const)
  mkdirSync(output, { recursive: true })
  // Of its own, as another build may be under way.
  const directory = mkdtempSync(join(output, 'build-'))
  const entries = ['src/server/main.ts', 'src/platform/server-memory.ts', ...startedModules()]
  const inside = await bundleScripts(entries, directory).catch((error: unknown) => {
    rmSync(directory, { recursive: true })
    throw error
  })
  const from = new Set([...inside, ...builders])
  const marks = found.flatMap(([name, { size, mtimeMs }]) => (from.has(name) ? [[name, size, mtimeMs]] : []))
  const next = join(directory, 'current.json')
  writeFileSync(next, JSON.stringify({ directory: basename(directory), sources: marks }))
  renameSync(next, current)
  removeOldBuilds()
  console.log(`${entries.length} scripts in dist/server`)
}

function removeOldBuilds(): void {
  const builds = readdirSync(output).flatMap((name) => {
    const directory = join(output, name)
    // Another build may be removing it.
    const made = name.startsWith('build-') ? statSync(directory, { throwIfNoEntry: false }) : undefined
    return made ? [{ directory, madeAt: made.mtimeMs }] : []
  })
  const newestFirst = builds.toSorted((a, b) => b.madeAt - a.madeAt)
  for (const { directory } of newestFirst.slice(keptBuilds)) rmSync(directory, { recursive: true, force: true })
}

const { values } = parseArgs({ options: { server: { type: 'boolean', default: false } } })
if (!values.server) await writeDashboard()
await writeServer()
