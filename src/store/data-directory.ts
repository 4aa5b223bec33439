import { closeSync, existsSync, fstatSync, openSync, readFileSync, readdirSync, readSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { codeOf, createFile, replaceFile } from '../durable-file.ts'
import { messageOf, SternaError } from '../errors.ts'

/**
 * What a data directory's `database.json` says. It is written before anything else is, and names a database only once that
 * one has been committed to: from then on a start that does not find it has lost something.
 */
interface Mark {
  /** The current database, relative to the data directory; null while the first start is under way. */
  database: string | null
  /** Which file `lock` was when the database was opened last. */
  lock: string | null
  /** Which files the database and its WAL were then. */
  file: string | null
  wal: string | null
}

const markFile = (directory: string): string => join(directory, 'database.json')
/** Where the first database of a directory is. Restored ones have a directory each. */
const firstDatabase = 'sterna.db'
const restoredForm = /^restored-(\d+)$/
const markForm = /^(?:sterna\.db|restored-\d+\/sterna\.db)$/
/** What the first 16 bytes of a database say. */
const magic = Buffer.from('SQLite format 3\0', 'latin1')

/** The file of the current database, whether it is there or not. */
export const databaseFile = (directory: string): string => join(directory, readMark(directory)?.database ?? firstDatabase)

/**
 * Finds the current database of a directory, which need not exist, and changes nothing. `isNew` where no database was ever
 * committed to here, though the first start may have begun. Not for a process that has the database open: to close what is
 * looked into would end the locks on it.
 * @throws SternaError `configuration` where there was one that is gone: a start would lose what can still be rescued
 */
export function findDatabase(directory: string): { file: string; isNew: boolean } {
  const mark = readMark(directory)
  const file = join(directory, mark?.database ?? firstDatabase)
  if (mark !== null) {
    if (mark.database !== null) requireDatabase(file, directory)
    requireOwnWal(file, mark)
    return { file, isNew: mark.database === null }
  }
  const traces = tracesIn(directory)
  if (traces.length === 0) return { file, isNew: true }
  if (traces.some((name) => restoredForm.test(name))) throw markLost(directory, 'is missing')
  // Before there were marks, or it was taken from somewhere else.
  requireDatabase(file, directory)
  return { file, isNew: false }
}

/** Says in a directory that is new that its first start has begun, so that this can be told from one whose database is gone. */
export function noteBeginning(directory: string): void {
  const path = markFile(directory)
  if (tracesIn(directory).length > 0 || existsSync(path)) return
  createFile(path, textOf({ database: null, lock: null, file: null, wal: null }))
}

/**
 * Commits to this database: the one step by which a directory gets its first one, or another one. Where it has that one already and only
 * what is noted beside is out of date, a full disk keeps nobody from starting: what is not known is asked of the database itself.
 */
export function commitTo(directory: string, file: string, lock: string | null): void {
  const database = relative(directory, file).replaceAll('\\', '/')
  const text = textOf({ database, lock, file: identityOf(file), wal: identityOf(`${file}-wal`) })
  const path = markFile(directory)
  const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
  if (before === text) return
  try {
    replaceFile(path, text)
  } catch (error) {
    if (parseMark(before)?.database !== database) throw error
  }
}

/** Which file `lock` was when the current database was opened last; null where nobody knows. */
export const lastLock = (directory: string): string | null => readMark(directory)?.lock ?? null

/** The name of a directory in which a restored database has room. */
export function newRestoredName(directory: string): string {
  const numbers = namesIn(directory).map((name) => Number(restoredForm.exec(name)?.[1] ?? 0))
  return `restored-${Math.max(0, ...numbers) + 1}`
}

/** What a file is that ought to be a database. */
export function kindOf(path: string): 'missing' | 'empty' | 'database' | 'other' {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'missing'
    throw unreadable(path, error)
  }
  try {
    if (fstatSync(file).size === 0) return 'empty'
    const head = Buffer.alloc(magic.length)
    readSync(file, head, 0, head.length, 0)
    return head.equals(magic) ? 'database' : 'other'
  } catch (error) {
    throw unreadable(path, error)
  } finally {
    closeSync(file)
  }
}

/** Tells one file from another that takes its name, also later on, when its number may be another's; null where there is none. */
export function identityOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.dev}:${found.ino}:${found.birthtimeNs}` : null
}

const textOf = (mark: Mark): string => `${JSON.stringify(mark)}\n`

/** Null where there is none. */
function readMark(directory: string): Mark | null {
  const path = markFile(directory)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return null
    throw unreadable(path, error)
  }
  const mark = parseMark(text)
  if (mark) return mark
  throw markLost(directory, 'cannot be understood')
}

function parseMark(text: string): Mark | null {
  try {
    const { database, lock = null, file = null, wal = null } = JSON.parse(text) as Partial<Mark>
    const isPath = database === null || (typeof database === 'string' && markForm.test(database))
    return isPath ? { database, lock, file, wal } : null
  } catch {
    return null
  }
}

/** What only a Sterna that has had a database here leaves behind; a key file may have been provided. */
const tracesIn = (directory: string): string[] =>
  namesIn(directory).filter(
    (name) => name === 'lock' || name === firstDatabase || name === `${firstDatabase}-wal` || restoredForm.test(name),
  )

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw unreadable(directory, error)
  }
}

const conditions = { missing: 'is missing', empty: 'is empty', other: 'is no SQLite database' } as const

function requireDatabase(file: string, directory: string): void {
  const kind = kindOf(file)
  if (kind === 'database') return
  const wal = existsSync(`${file}-wal`)
    ? ` Keep ${file}-wal: mail that was accepted last is in it, and it is of use to that file alone.`
    : ''
  throw refusal(
    `The database of ${directory} is gone: ${file} ${conditions[kind]}. Nothing was changed. ` +
      `Bring the file back, or put a backup in its place: sterna restore BACKUP.${wal} ` +
      `To begin anew, without the accounts and the mail that were there, move everything out of ${directory}.`,
  )
}

/** SQLite would write what is in the WAL into whatever database lies beside it. */
function requireOwnWal(file: string, mark: Mark): void {
  const path = `${file}-wal`
  const wal = statSync(path, { throwIfNoEntry: false })
  if (!wal || wal.size === 0 || identityOf(path) !== mark.wal || identityOf(file) === mark.file) return
  throw refusal(
    `${file} is another file than the one that ${path} belongs to, and would be damaged by it. Nothing was changed. ` +
      `Bring the right one back. Or, if a backup was put there: move it elsewhere, and run sterna restore BACKUP. ` +
      `Keep ${path}: mail that was accepted last is in it.`,
  )
}

const markLost = (directory: string, how: string): SternaError =>
  refusal(
    `${markFile(directory)} ${how}, which says which database of ${directory} is the current one. Nothing was changed. ` +
      'Write it anew: {"database":"sterna.db"} for the one that was there first, {"database":"restored-1/sterna.db"} for the one that ' +
      `was restored first. To begin anew, move everything out of ${directory}.`,
  )

const refusal = (message: string): SternaError => new SternaError('configuration', message)

const unreadable = (path: string, error: unknown): SternaError =>
  new SternaError(
    'configuration',
    `${path} cannot be read: ${messageOf(error)}. The user that runs Sterna must be able to read and write all that is in data_dir.`,
    { cause: error },
  )
