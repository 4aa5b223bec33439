import { fork, type ChildProcess, type ForkOptions } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import * as sea from 'node:sea'
import { Worker, type WorkerOptions } from 'node:worker_threads'

/**
 * The parts of this program: its files, the modules that its threads and child processes run. They lie in a checkout, or inside the
 * single executable that `npm run build:binary` makes. There, `import.meta.url` of a module is `sea:///` and its path in the checkout.
 */

const scheme = 'sea:'

/** Whether this is the single executable. */
export const isBinary = sea.isSea()

const isInside = (part: URL): boolean => part.protocol === scheme
/** The executable names its parts by their paths in the checkout. */
const nameOf = (part: URL): string => part.pathname.slice(1)
const inside = (name: string): Buffer => Buffer.from(sea.getRawAsset(name) as ArrayBuffer)
const scriptOf = (module: URL): string => sea.getAsset(nameOf(module), 'utf8')

/** The content of a file, `new URL('./x.json', import.meta.url)`. */
export const programFile = (file: URL): Buffer => (isInside(file) ? inside(nameOf(file)) : readFileSync(file))

/** The names of the files in a folder, `new URL('./x/', import.meta.url)`, in order; none if there is no such folder. */
export function programFolder(folder: URL): string[] {
  if (!isInside(folder)) return namesIn(folder)
  const start = nameOf(folder)
  return sea
    .getAssetKeys()
    .flatMap((name) => (name.startsWith(start) ? [name.slice(start.length)] : []))
    .toSorted()
}

function namesIn(folder: URL): string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** The content of a file that comes with a package, such as `swagger-ui-dist/swagger-ui.css`. */
export const packageFile = (name: string): Buffer =>
  isBinary ? inside(`node_modules/${name}`) : readFileSync(createRequire(import.meta.url).resolve(name))

/** Starts a thread that runs a module, `new URL('./x-thread.ts', import.meta.url)`. */
export const startThread = (module: URL, options: WorkerOptions): Worker =>
  isInside(module) ? new Worker(scriptOf(module), { ...options, eval: true }) : new Worker(module, options)

/**
 * Starts a child process that runs a module, `new URL('./x-process.ts', import.meta.url)`.
 * @param flags for its Node
 */
export function startChild(module: URL, flags: string[], options: ForkOptions): ChildProcess {
  // The executable takes flags for Node as one argument, and runs a module that is named like this.
  if (isInside(module)) return fork(module.href, { ...options, execArgv: [`--node-options=${flags.join(' ')}`] })
  return fork(module, { ...options, execArgv: flags })
}

/** The source of the module that `startChild` asks this process for; null if it is not such a child. Only for the executable's start. */
export function childScript(argument: string | undefined): string | null {
  return argument?.startsWith(`${scheme}///`) && process.send ? scriptOf(new URL(argument)) : null
}
