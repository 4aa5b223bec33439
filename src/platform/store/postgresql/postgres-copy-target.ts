import { codeOf } from '../../durable-file.ts'
import { SternaError } from '../../errors.ts'
import { CommitUnknown, type CopyTarget, type TableShape } from '../copy-sides.ts'
import type { RowPiece } from '../row-codec.ts'
import { copyIn } from './copy-stream.ts'
import { openForCopy } from './open-for-copy.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import { LostConnection, openErrorOf } from './postgres-errors.ts'
import { makeFirstSchema, requireFit } from './postgres-schema.ts'
import { columnsOf, rowsOn, tablesOn } from './postgres-tables.ts'
import { postgresPlace, type PostgresPlace } from './postgres-url.ts'

/**
 * An empty database on a server. All of a copy is one transaction there: until its commit, and if it breaks off, the database is empty.
 * @throws SternaError `configuration` if it cannot be reached or used, `invalid_state` if it is not empty
 */
export async function postgresTarget(url: string): Promise<CopyTarget> {
  const place = postgresPlace(url)
  try {
    const connection = await openForCopy(place)
    try {
      await requireFit(connection)
      await requireEmpty(connection, place)
      return new ServedTarget(connection, place)
    } catch (error) {
      await connection.close()
      throw error
    }
  } catch (error) {
    throw openErrorOf(error, place)
  }
}

async function requireEmpty(connection: PostgresConnection, { shown, database }: PostgresPlace): Promise<void> {
  const { rows } = await connection.run(
    "select relname from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f') limit 1",
  )
  if (!rows || rows.length === 0) return
  throw new SternaError(
    'invalid_state',
    `PostgreSQL, ${shown}, is not empty: it has tables, of a copy that is complete, of a node that has started on it, or of something else. ` +
      `Nothing was changed. Copy into a new database: create database "${database}_new" encoding 'UTF8' template template0.`,
  )
}

class ServedTarget implements CopyTarget {
  readonly shown: string
  readonly #connection: PostgresConnection
  readonly #place: PostgresPlace
  /** What makes the indexes and references that are away while tables are filled. */
  #later: string[] = []

  constructor(connection: PostgresConnection, place: PostgresPlace) {
    this.shown = place.shown
    this.#connection = connection
    this.#place = place
  }

  tables(): Promise<TableShape[]> {
    return tablesOn(this.#connection)
  }

  rows(shape: TableShape): AsyncIterable<RowPiece> {
    return rowsOn(this.#connection, shape)
  }

  begin(): Promise<void> {
    return this.#inWords(async () => {
      await this.#connection.run('begin')
      await makeFirstSchema(this.#connection)
      // What the migrations have put in is in the copy.
      const names = (await this.tables()).map(({ table }) => table)
      await this.#connection.run(`truncate ${names.join(', ')}`)
      const drops = await this.#texts(referencesAndIndexes('drop'))
      this.#later = await this.#texts(referencesAndIndexes('make'))
      for (const sql of drops) await this.#connection.run(sql)
    })
  }

  fill(shape: TableShape, rows: AsyncIterable<RowPiece>): Promise<void> {
    const sql = `copy ${shape.table} (${columnsOf(shape)}) from stdin (format binary, freeze)`
    return this.#inWords(() => copyIn(this.#connection, sql, rows))
  }

  finish(): Promise<void> {
    return this.#inWords(async () => {
      for (const sql of this.#later.splice(0)) await this.#connection.run(sql)
      for (const sql of await this.#texts(setNumbering)) await this.#connection.run(sql)
      await this.#connection.run('analyze')
    })
  }

  commit(): Promise<void> {
    return this.#inWords(async () => {
      try {
        await this.#connection.run('commit')
      } catch (error) {
        if (!(error instanceof LostConnection)) throw error
        throw new CommitUnknown(`The connection was lost while the copy was being completed: look whether ${this.shown} has tables.`)
      }
    })
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  async #texts(sql: string): Promise<string[]> {
    const { rows } = await this.#connection.run(sql)
    return (rows ?? []).map(({ text }) => String(text))
  }

  async #inWords(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (codeOf(error) !== '53100') throw error instanceof CommitUnknown ? error : openErrorOf(error, this.#place)
      throw new SternaError(
        'invalid_state',
        `The disk of PostgreSQL is full, so ${this.shown} is as empty as before. Give it more space, about twice what the database is here.`,
        { cause: error },
      )
    }
  }
}

/** References first: they need the indexes that they refer to. */
const referencesAndIndexes = (what: 'drop' | 'make'): string => {
  const [reference, index] =
    what === 'drop'
      ? [`format('alter table %s drop constraint %I', conrelid::regclass, conname)`, `format('drop index %s', indexrelid::regclass)`]
      : [
          `format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))`,
          'pg_get_indexdef(indexrelid)',
        ]
  const order = what === 'drop' ? 'is_index' : 'is_index desc'
  return `
    select text from (
      select 0 as is_index, ${reference} as text from pg_constraint
       where contype = 'f' and connamespace = current_schema()::regnamespace
      union all
      select 1, ${index} from pg_index i join pg_class c on c.oid = i.indrelid
       where c.relnamespace = current_schema()::regnamespace
         and not exists (select 1 from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
    ) as made order by ${order}, text`
}

/** A column that numbers itself goes on after the last number. */
const setNumbering = `
  select format('select setval(pg_get_serial_sequence(%L, %L), coalesce(max(%I), 0) + 1, false) from %I', table_name, column_name, column_name, table_name) as text
    from information_schema.columns where table_schema = current_schema() and is_identity = 'YES'`
