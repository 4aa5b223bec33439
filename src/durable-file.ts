import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** What a file system says that cannot flush a directory, or does not let us open one. */
const cannotFlushDirectory = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EACCES', 'EPERM'])
/** What a file system says that knows no second name for a file. */
const cannotLink = new Set(['ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EPERM', 'EMLINK'])

export const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException | null)?.code ?? '')

/** Has the content of a file on disk. */
export function flushFile(path: string): void {
  // Windows flushes only what was opened for writing.
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Has the names in a directory on disk: what was made, renamed or removed in it. */
export function flushDirectory(path: string): void {
  // Windows knows no fsync of a directory.
  if (process.platform === 'win32') return
  let directory: number | undefined
  try {
    directory = openSync(path, 'r')
    fsyncSync(directory)
  } catch (error) {
    if (!cannotFlushDirectory.has(codeOf(error))) throw error
  } finally {
    if (directory !== undefined) closeSync(directory)
  }
}

/** Makes a directory that only its owner may enter, and those above it, and has their names on disk. */
export function makeDirectory(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; ; made = dirname(made)) {
    flushDirectory(dirname(made))
    if (made === first || made === dirname(made)) return
  }
}

/** Puts this text in the place of a file's, which only its owner may read. Whenever the power fails, it is the old one or the new. */
export function replaceFile(path: string, text: string): void {
  withWritten(path, text, (written) => renameSync(written, path))
}

/** Makes a file with this text, which only its owner may read; false where there is one, which is left as it is. */
export function createFile(path: string, text: string): boolean {
  return withWritten(path, text, (written) => giveName(written, path))
}

/** Writes a file aside, has `place` put it where it belongs, and removes what is still aside. */
function withWritten<T>(path: string, text: string, place: (written: string) => T): T {
  const written = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    writeFileSync(written, text, { flag: 'wx', mode: 0o600, flush: true })
    const placed = place(written)
    flushDirectory(dirname(path))
    return placed
  } finally {
    rmSync(written, { force: true })
  }
}

/** Gives a file a second name, never that of another one; false where that name is taken. */
export function giveName(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EEXIST') return false
    if (!cannotLink.has(code)) throw error
    if (existsSync(to)) return false
    renameSync(from, to)
    return true
  }
}
