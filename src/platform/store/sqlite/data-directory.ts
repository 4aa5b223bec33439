import { closeSync, existsSync, fstatSync, openSync, readFileSync, readdirSync, readSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { codeOf, createFile, replaceFile } from '../../durable-file.ts'
import { SternaError } from '../../errors.ts'
import { reasonOf } from '../../plain-reason.ts'

/**
 * The content of a data directory's `database.json`. It is written before anything else, and names a database only once that database
 * has been committed to: from then on, a start that does not find it has lost something.
 */
interface Mark {
  /** The current database, relative to the data directory; null during the first start. */
  database: string | null
  /** The identity of the file `lock` when the database was last opened. */
  lock: string | null
  /** The identities of the database and WAL files at that time. */
  file: string | null
  wal: string | null
}

const markFile = (directory: string): string => join(directory, 'database.json')
/** Where the first database of a directory is. Each restored one has its own directory. */
const firstDatabase = 'sterna.db'
const restoredForm = /^restored-(\d+)$/
const markForm = /^(?:sterna\.db|restored-\d+\/sterna\.db)$/
/** The content of the first 16 bytes of a database. */
const magic = Buffer.from('SQLite format 3\0', 'latin1')

/** The file of the current database, whether or not it exists. */
export const databaseFile = (directory: string): string => join(directory, readMark(directory)?.database ?? firstDatabase)

/**
 * Finds the current database of a directory, which need not exist, and changes nothing. `isNew` if no database was ever committed to
 * here, even if the first start has begun. Not for a process that has the database open: closing the files examined would release the
 * locks on them.
 * @throws SternaError `configuration` if there was one and it is gone: a start would lose what can still be rescued
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
  // The directory is from before there were marks, or was copied from elsewhere.
  requireDatabase(file, directory)
  return { file, isNew: false }
}

/** Records in a new directory that its first start has begun, so that it can be told from a directory whose database is gone. */
export function noteBeginning(directory: string): void {
  const path = markFile(directory)
  if (tracesIn(directory).length > 0 || existsSync(path)) return
  createFile(path, textOf({ database: null, lock: null, file: null, wal: null }))
}

/**
 * Commits to this database: the one step by which a directory gets its first database, or another one. If the directory already has it
 * and only the other notes are out of date, a full disk does not prevent the start: what is missing can be read from the database
 * itself.
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

/** The identity of the file `lock` when the current database was last opened; null if unknown. */
export const lastLock = (directory: string): string | null => readMark(directory)?.lock ?? null

/** The name of a directory for a restored database. */
export function newRestoredName(directory: string): string {
  const numbers = namesIn(directory).map((name) => Number(restoredForm.exec(name)?.[1] ?? 0))
  return `restored-${Math.max(0, ...numbers) + 1}`
}

/** What is wrong with a file that should be a database. */
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

/** Distinguishes a file from another that takes its name, even later, when its inode number may be reused; null if there is none. */
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
  throw markLost(directory, 'cannot be parsed')
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

/** What only a Sterna with a database leaves behind; a key file may have been put there by hand. */
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

const conditions = { missing: 'is missing', empty: 'is empty', other: 'is not an SQLite database' } as const

function requireDatabase(file: string, directory: string): void {
  const kind = kindOf(file)
  if (kind === 'database') return
  const wal = existsSync(`${file}-wal`) ? ` Keep ${file}-wal: it holds the mail accepted last, and is of use only with that file.` : ''
  throw refusal(
    `The database of ${directory} is gone: ${file} ${conditions[kind]}. Nothing was changed. ` +
      `Put the file back, or restore a backup in its place: sterna restore BACKUP.${wal} ` +
      `To start over, without the existing accounts and mail, move everything out of ${directory}.`,
  )
}

/** SQLite would write the content of the WAL into whatever database lies next to it. */
function requireOwnWal(file: string, mark: Mark): void {
  const path = `${file}-wal`
  const wal = statSync(path, { throwIfNoEntry: false })
  if (!wal || wal.size === 0 || identityOf(path) !== mark.wal || identityOf(file) === mark.file) return
  throw refusal(
    `${file} is not the file that ${path} belongs to, and would be damaged by it. Nothing was changed. ` +
      `Put the right one back. Or, if this is a backup that somebody put there: move it elsewhere, and run sterna restore BACKUP. ` +
      `Keep ${path}: it holds the mail accepted last.`,
  )
}

const markLost = (directory: string, how: string): SternaError =>
  refusal(
    `${markFile(directory)} ${how}. It says which database of ${directory} is the current one. Nothing was changed. ` +
      'Write it again: {"database":"sterna.db"} for the first database, {"database":"restored-1/sterna.db"} for the one that ' +
      `was restored first. To start over, move everything out of ${directory}.`,
  )

const refusal = (message: string): SternaError => new SternaError('configuration', message)

const unreadable = (path: string, error: unknown): SternaError =>
  new SternaError(
    'configuration',
    `${path} cannot be read: ${reasonOf(error)}. The user that runs Sterna must be able to read and write everything in data_dir.`,
    { cause: error },
  )
