/** Bundles this program: the server with its packages in one script, and one for each thread and child process. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { build, type BuildOptions, type Plugin } from 'esbuild'

export const root = resolve(import.meta.dirname, '..')

/** Where a thread or a child process is started, and with it the module that it runs. */
const startedModule = /new URL\('(\.\/[\w-]+-(?:thread|process)\.ts)', import\.meta\.url\)/g

/** The server's modules, by their paths in the checkout. */
export const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.startsWith('clients/dashboard'))
  .map((name) => `src/${name}`)

/** The modules that threads and child processes run. */
export function startedModules(): string[] {
  const found = sources.flatMap((source) =>
    Array.from(readFileSync(join(root, source), 'utf8').matchAll(startedModule), ([, name = '']) => join(source, '..', name)),
  )
  // A comment may show how a module is named.
  return [...new Set(found)].filter((module) => sources.includes(module))
}

/** A module's source, with other arguments for the URLs of the modules that it starts; these are named as in the source. */
export const replaceStarted = (source: string, urlOf: (module: string) => string): string =>
  source.replace(startedModule, (_, name: string) => `new URL(${urlOf(name)})`)

/** JavaScript for the URLs by which a bundled module finds its parts with `program.ts`. Names are paths in the checkout. */
export interface OwnUrls {
  ofModule(name: string): string
  /** Default: as the module names it. */
  ofStarted?(name: string): string
}

/** Each module keeps a URL of its own in the bundle. */
const keepUrls = ({ ofModule, ofStarted }: OwnUrls): Plugin => ({
  name: 'own URLs',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (!path.startsWith(join(root, 'src'))) return null
      const source = readFileSync(path, 'utf8')
      const started = ofStarted ? replaceStarted(source, (name) => ofStarted(relative(root, resolve(path, '..', name)))) : source
      return { contents: started.replaceAll('import.meta.url', ofModule(relative(root, path))), loader: 'ts' }
    })
  },
})

/** Nobody asks zod for other languages than English. */
const englishOnly: Plugin = {
  name: 'English only',
  setup({ onLoad }) {
    onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({ contents: "export { default as en } from './en.js'" }))
  },
}

/** A single character beyond Latin-1 doubles the memory that a script takes; esbuild leaves them in regular expressions. */
const inAscii = (script: string): string =>
  script.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Bundles a module with all that it imports. Returns the names of the files inside. */
export async function bundle(entry: string, outfile: string, urls: OwnUrls, options: BuildOptions = {}): Promise<string[]> {
  const { metafile, outputFiles } = await build({
    entryPoints: [join(root, entry)],
    absWorkingDir: root,
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node26',
    format: 'cjs',
    // Names stay as they are, so that a stack trace says something.
    minifyWhitespace: true,
    minifySyntax: true,
    // Node prints the whole line of an error that nobody catches.
    lineLimit: 160,
    legalComments: 'none',
    // Packages only compare it or look beside it for what we do not use.
    define: { 'import.meta.url': '"file:///sterna"' },
    plugins: [keepUrls(urls), englishOnly],
    logLevel: 'warning',
    ...options,
    external: ['esbuild', 'pg-native', ...(options.external ?? [])],
    metafile: true,
    write: false,
  })
  mkdirSync(dirname(outfile), { recursive: true })
  for (const { text } of outputFiles) writeFileSync(outfile, inAscii(text))
  return Object.keys(metafile.inputs)
}

/** Packages that stay where they are: SQLite with its addon, and those that are large and imported when they are needed. */
const leftOut = [
  'better-sqlite3',
  '@simplewebauthn/server',
  'age-encryption',
  'csv-parse',
  'nodemailer/lib/mail-composer',
  'pg',
  'selfsigned',
  'undici',
]

/** The name of a module's script. */
export const scriptName = (module: string): string => `${basename(module, '.ts')}.cjs`

/**
 * Bundles modules into a folder of the checkout, a script each, for Node to run where the packages are installed. The checkout may be
 * moved. Returns the names of the files inside.
 */
export async function bundleScripts(modules: string[], folder: string): Promise<string[]> {
  const up = JSON.stringify(`${relative(folder, root)}/`)
  const here = `const $here = require("node:url").pathToFileURL(__dirname + "/"), $checkout = new URL(${up}, $here).href;`
  const urls: OwnUrls = {
    ofModule: (name) => `($checkout + ${JSON.stringify(name)})`,
    ofStarted: (name) => `${JSON.stringify(scriptName(name))}, $here`,
  }
  const options = { target: 'node22', banner: { js: here }, external: leftOut }
  const inside = await Promise.all(modules.map((module) => bundle(module, join(folder, scriptName(module)), urls, options)))
  return inside.flat()
}
