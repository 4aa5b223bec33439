import { randomBytes } from 'node:crypto'
import { closeSync, constants, existsSync, openSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'
import { messageOf, SternaError } from '../../errors.ts'
import { isBinary, packageFile } from '../../program.ts'

/**
 * In the single executable, SQLite's addon has to be a file before it can be loaded. The file has no name by then: it is created,
 * unlinked, written and loaded through its descriptor, so nobody can put another in its place, and nothing stays behind.
 */

const sharedAs = "SQLite's addon"

/**
 * Loads the addon for this thread and the threads that it starts; in a checkout there is nothing to do. All of them must load one file:
 * a second copy of SQLite in a process would release the locks that the first one holds.
 * @param directory the data directory, which may be the only one that can be written
 * @throws SternaError `configuration` if no directory takes it
 */
export function shareAddon(directory: string): void {
  if (!isBinary || !isMainThread || getEnvironmentData(sharedAs) !== undefined) return
  const addon = packageFile(`better-sqlite3/prebuilds/linux-${process.arch}.node`)
  const faults: string[] = []
  for (const place of [existing(resolve(directory)), tmpdir(), '/dev/shm']) {
    try {
      return setEnvironmentData(sharedAs, loadFrom(place, addon))
    } catch (error) {
      faults.push(`${place}: ${messageOf(error)}`)
    }
  }
  throw new SternaError(
    'configuration',
    'SQLite cannot be loaded, because it needs one directory that can be written and is not mounted with "noexec":\n  ' +
      faults.join('\n  '),
  )
}

/** What `better-sqlite3` has to be told to find the addon: nothing in a checkout. */
export function addonOption(directory: string): object {
  if (!isBinary) return {}
  shareAddon(directory)
  return { nativeBinding: load(getEnvironmentData(sharedAs) as string) }
}

/** Returns the path by which every thread loads it, so its descriptor stays open. */
function loadFrom(directory: string, addon: Buffer): string {
  const name = join(directory, `.sterna-${process.pid}-${randomBytes(8).toString('hex')}`)
  const descriptor = openSync(name, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600)
  try {
    unlinkSync(name)
    writeFileSync(descriptor, addon)
    const path = `/proc/self/fd/${descriptor}`
    load(path)
    return path
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

let loaded: object | undefined

function load(path: string): object {
  if (loaded) return loaded
  const module = { exports: {} }
  process.dlopen(module, path)
  return (loaded = module.exports)
}

/** The directory itself, or the nearest one above it that exists. */
const existing = (directory: string): string => (existsSync(directory) ? directory : existing(dirname(directory)))
