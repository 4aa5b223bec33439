import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundleScripts, replaceStarted, root, scriptName, sources, startedModules } from '../../scripts/bundle.ts'

const cache = join(root, 'node_modules/.cache/test-threads')
const dayMs = 24 * 60 * 60_000

interface BundledThreads {
  name: string
  enforce: 'pre'
  configureVitest(vitest: { defineCacheKeyGenerator(key: (module: { sourceCode: string }) => string | null): void }): void
  transform(code: string, id: string): string | null
}

/**
 * For vitest: the threads and child processes that the server starts run one script each, as after `npm run build`. To load their modules one
 * by one takes longer than most tests do, and tests start hundreds. The scripts are made anew when a source has changed.
 */
export async function bundledThreads(): Promise<BundledThreads> {
  const scripts = await currentScripts()
  const urlOf = (module: string): string => JSON.stringify(pathToFileURL(join(scripts, scriptName(module))).href)
  return {
    name: 'bundled threads',
    enforce: 'pre',
    // Vitest keeps what it has transformed from run to run: it would name the scripts of an earlier one.
    configureVitest: ({ defineCacheKeyGenerator }) =>
      defineCacheKeyGenerator(({ sourceCode }) => (replaceStarted(sourceCode, urlOf) === sourceCode ? null : scripts)),
    transform: (code, id) => (id.startsWith(join(root, 'src/')) ? replaceStarted(code, urlOf) : null),
  }
}

/** The folder of those that were made from the sources as they are now. Several runs may begin at once. */
async function currentScripts(): Promise<string> {
  const scripts = join(cache, hashOf([...sources, 'scripts/bundle.ts', 'node_modules/.package-lock.json']))
  if (existsSync(scripts)) {
    const now = new Date()
    utimesSync(scripts, now, now)
    return scripts
  }
  mkdirSync(cache, { recursive: true })
  removeOld()
  const made = mkdtempSync(join(cache, 'made-'))
  await bundleScripts(startedModules(), made)
  try {
    renameSync(made, scripts)
  } catch (error) {
    // Another run was first.
    if (!existsSync(scripts)) throw error
    rmSync(made, { recursive: true })
  }
  return scripts
}

function hashOf(names: string[]): string {
  const hash = createHash('sha256')
  for (const name of names) hash.update(`${name}\0`).update(readFileSync(join(root, name)))
  return hash.digest('hex').slice(0, 20)
}

/** Removes those that no run has used for a day; none takes as long. */
function removeOld(): void {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name)
    const usedAt = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Infinity
    if (usedAt < Date.now() - dayMs) rmSync(folder, { recursive: true, force: true })
  }
}
