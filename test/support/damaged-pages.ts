import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { databaseFile } from '../../src/platform/store/sqlite/data-directory.ts'
import { openReader, openWriter } from '../../src/platform/store/sqlite/sqlite-connection.ts'

/** A page of a database file. */
export interface Page {
  /** The table or index that it belongs to. */
  name: string
  kind: 'table' | 'index'
  number: number
  type: 'leaf' | 'internal' | 'overflow'
}

const pageSize = 4_096

/** The pages of tables and indexes in a data directory that nobody uses, each in the order of its rows. */
export function pagesIn(directory: string): Page[] {
  // What the log holds would hide the page.
  openWriter(directory).close()
  const connection = openReader(directory)
  try {
    return connection
      .prepare<[], Page>(
        `select d.name, s.type as kind, d.pageno as number, d.pagetype as type
           from dbstat d join sqlite_schema s on s.name = d.name order by d.name, d.path`,
      )
      .all()
  } finally {
    connection.close()
  }
}

/** Changes two bytes of a page: of the head by which SQLite knows what the page is, or where `at` says. Answers what mends it. */
export function damage(directory: string, { number }: Pick<Page, 'number'>, at = 0): () => void {
  const file = openSync(databaseFile(directory), 'r+')
  const place = (number - 1) * pageSize + at
  const before = Buffer.alloc(2)
  readSync(file, before, 0, 2, place)
  writeSync(file, Buffer.from(before.map((byte) => byte ^ 0xff)), 0, 2, place)
  closeSync(file)
  return () => {
    const mended = openSync(databaseFile(directory), 'r+')
    writeSync(mended, before, 0, 2, place)
    closeSync(mended)
  }
}

/** The page that holds this text, which may be one of overflow, and where in it. */
export function pageWith(directory: string, name: string, text: string): Page & { at: number } {
  const file = openSync(databaseFile(directory), 'r')
  try {
    const bytes = Buffer.alloc(pageSize)
    for (const page of pagesIn(directory).filter((each) => each.name === name)) {
      readSync(file, bytes, 0, pageSize, (page.number - 1) * pageSize)
      const at = bytes.indexOf(text)
      if (at !== -1) return { ...page, at }
    }
  } finally {
    closeSync(file)
  }
  throw new Error(`no page of ${name} holds "${text}"`)
}
