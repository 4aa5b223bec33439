import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Errors of file systems that cannot flush a directory, or open one. */
const cannotFlushDirectory = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EACCES', 'EPERM'])
/** Errors of file systems without hard links. */
const cannotLink = new Set(['ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EPERM', 'EMLINK'])

export const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException | null)?.code ?? '')

/** Flushes a file's content to disk. */
export function flushFile(path: string): void {
  // Windows flushes only files that are open for writing.
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Flushes a directory to disk: the names created, changed and removed in it. */
export function flushDirectory(path: string): void {
  // Windows cannot flush a directory.
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

/** Creates a directory that only its owner may enter, with its parents, and flushes their names to disk. */
export function makeDirectory(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; ; made = dirname(made)) {
    flushDirectory(dirname(made))
    if (made === first || made === dirname(made)) return
  }
}

/** Replaces a file's content atomically. Only its owner may read it. After a power cut it has either the old text or the new. */
export function replaceFile(path: string, text: string): void {
  withWritten(path, text, (written) => renameSync(written, path))
}

/** Does what `replaceFile` does, and lets the thread work while the disk does. */
export async function replaceFileLater(path: string, text: string): Promise<void> {
  const written = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    const file = await open(written, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(written, path)
    await flushDirectoryLater(dirname(path))
  } finally {
    await rm(written, { force: true })
  }
}

/** Does what `flushDirectory` does, and lets the thread work while the disk does. */
export async function flushDirectoryLater(path: string): Promise<void> {
  if (process.platform === 'win32') return
  try {
    const directory = await open(path, 'r')
    await directory.sync().finally(() => directory.close())
  } catch (error) {
    if (!cannotFlushDirectory.has(codeOf(error))) throw error
  }
}

/** Creates a file that only its owner may read. False if it already exists; then it stays unchanged. */
export function createFile(path: string, text: string): boolean {
  return withWritten(path, text, (written) => giveName(written, path))
}

/** Writes a temporary file, calls `place` to move it to its place, and removes the temporary file if it still exists. */
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

/** Gives a file a second name (a hard link). False if the name is taken. */
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
