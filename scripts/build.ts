/**
 * Builds the dashboard into dist/dashboard, from where a server without development tools serves it, and the server into dist/server: one
 * script for each thread takes less memory than a thousand modules, and starts faster. bin/built.js says when it runs.
 *
 * npm run build
 * npm run build -- --server                 the server only
 */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

/** A running server starts threads and child processes from its own build, so the next one goes into the other directory. */
function nextDirectory(): string {
  try {
    return (JSON.parse(readFileSync(current, 'utf8')) as { directory: string }).directory === 'a' ? 'b' : 'a'
  } catch {
    // There is none yet.
    return 'a'
  }
}

/** Changes whenever the packages do. */
const packages = 'node_modules/.package-lock.json'

async function writeServer(): Promise<void> {
  // Looked at first: a source that changes while it is built does not match.
  const found = [...sources, packages].map((name) => [name, statSync(join(root, name))] as const)
  const directory = nextDirectory()
  mkdirSync(join(output, directory), { recursive: true })
  const entries = ['src/server/main.ts', 'src/platform/server-memory.ts', ...startedModules()]
  const from = new Set([...(await bundleScripts(entries, join(output, directory))), packages])
  const marks = found.flatMap(([name, { size, mtimeMs }]) => (from.has(name) ? [[name, size, mtimeMs]] : []))
  writeFileSync(`${current}.new`, JSON.stringify({ directory, sources: marks }))
  renameSync(`${current}.new`, current)
  console.log(`${entries.length} scripts in dist/server`)
}

const { values } = parseArgs({ options: { server: { type: 'boolean', default: false } } })
if (!values.server) await writeDashboard()
await writeServer()
