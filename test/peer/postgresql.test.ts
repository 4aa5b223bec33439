import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { migrations } from '../../src/platform/store/schema-steps.ts'
import { postgresSchema, postgresStatement } from '../../src/platform/store/postgresql/postgres-dialect.ts'
import { openDatabase } from '../../src/platform/store/sqlite/sqlite-database.ts'
import type { Row, Statement, Value } from '../../src/platform/store/database.ts'
import { sqlLiteral, startPostgres, type PostgresServer } from '../support/postgres-server.ts'
import { largeTables, manyRows } from '../support/many-rows.ts'
import { livedRelay } from '../support/relay-life.ts'
import { sqlLiterals } from '../support/sql-literals.ts'

/**
 * PostgreSQL as a second engine: it takes the migrations, every statement that the source holds, and, from the batches
 * of a whole life of a relay, makes the same tables as SQLite. The relay runs on its own database, listened to.
 */
const recorder = await vi.hoisted(async () => (await import('../support/statement-recorder.ts')).statementRecorder())

vi.mock('../../src/platform/store/sqlite/sqlite-database.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../src/platform/store/sqlite/sqlite-database.ts')>()
  return {
    ...original,
    openDatabase: async (options: { directory: string }) => {
      const { db, files } = await original.openDatabase(options)
      return { db: recorder.listenTo(db), files }
    },
  }
})

const schema = migrations().map(({ sql }) => postgresSchema(sql))
/** Those that there are in the end, each once: a later migration may make one anew, rename or drop it. */
const tables = new Set<string>()
const changes = /^(?:create table (?:if not exists )?(\w+)|drop table (\w+)|alter table (\w+) rename to (\w+))/gm
for (const [, created, dropped, renamed, name = created] of schema.join('\n').matchAll(changes)) {
  for (const gone of [dropped, renamed]) if (gone !== undefined) tables.delete(gone)
  if (name !== undefined) tables.add(name)
}
/** The rows of every table as SQLite has them in the end. */
const contents = new Map<string, Row[]>()
let postgres: PostgresServer

beforeAll(async () => {
  // Nothing has to outlive the test.
  postgres = startPostgres({ settings: { autovacuum: 'off', full_page_writes: 'off', wal_level: 'minimal', max_wal_senders: '0' } })
  await postgres.run(`begin;\n${schema.join('\n')}\ncommit;`)
})

afterAll(() => postgres?.stop())

test('a relay that does all it can runs every statement of the source', async () => {
  const relay = await livedRelay()
  const { db } = await openDatabase({ directory: relay.relay.services.config.dataDir })
  for (const table of tables) contents.set(table, await db.slowRead(`select * from ${table}`))
  await db.close()
  const statements = [...recorder.statements.keys()]
  const literals = sqlLiterals(join(import.meta.dirname, '../../src'))
  expect(literals.length).toBeGreaterThan(100)
  expect(literals.filter(({ isIn }) => !statements.some(isIn)).map(({ name }) => name)).toEqual([])
})

test('PostgreSQL knows every statement, and answers with types that we know', async () => {
  const statements = prepared()
  const script = statements.flatMap(({ name, sql, names }) => [
    `\\echo ${name}`,
    `prepare ${name} as ${sql};`,
    // A plan for whatever values, as a pool makes it.
    `explain (costs off) execute ${name}${names.length > 0 ? `(${names.map(() => 'null').join(', ')})` : ''};`,
    `${sql} \\gdesc`,
  ])
  const output = await postgres.run(['set plan_cache_mode = force_generic_plan;', ...script].join('\n'))
  const answers = output.split(/^s\d+$/m).slice(1)
  expect(answers).toHaveLength(statements.length)
  // A count is a bigint, but a sum of bigints is numeric: that a driver gives as text.
  const foreign = answers.flatMap((answer, place) =>
    Array.from(answer.matchAll(/^\w+\|(?!(?:text|bigint|bytea)$).*$/gm), ([column]) => `${column} of ${statements[place]?.source}`),
  )
  expect(foreign).toEqual([])
})

test('in PostgreSQL that life gives the same answers and leaves the same rows', async () => {
  const statements = new Map(prepared().map((statement) => [statement.source, statement]))
  const execute = ({ sql, params = {} }: Statement): string => {
    const { name = '', names = [] } = statements.get(sql) ?? {}
    const values = names.map((parameter) => sqlLiteral(params[parameter] ?? null))
    return `execute ${name}${values.length > 0 ? `(${values.join(', ')})` : ''};\n\\echo '\\x1c'`
  }
  const prepare = Array.from(statements.values(), ({ name, sql }) => `prepare ${name} as ${sql};`)
  const separators = "\\pset fieldsep '\\x1f'\n\\pset recordsep '\\x1e'\n\\pset null '\\x1d'"
  const life = recorder.executed.map((batch) => ['begin;', ...batch.map(execute), 'commit;'].join('\n'))
  const dump = Array.from(tables, (table) => `select * from ${table};\n\\echo '\\x1c'`)
  const output = await postgres.run([...prepare, separators, ...life, ...dump].join('\n'))
  const answers = output.split('\x1c\n').map((answer) => (answer === '' ? [] : answer.slice(0, -1).split('\x1e')))
  const expected = recorder.executed.flat().concat(Array.from(contents, ([table, rows]) => ({ sql: `select * from ${table}`, rows })))
  expect(answers).toHaveLength(expected.length + 1)
  for (const [place, { sql, rows }] of expected.entries())
    expect(inOrder(sql, answers[place] ?? []), sql).toEqual(inOrder(sql, rows.map(line)))
})

test(
  'at a million rows no statement of a relay reads all of a large table, but for a few that are asked for by hand',
  { timeout: 900_000 },
  async () => {
    await postgres.run(manyRows)
    const statements = prepared().filter(({ source }) => !ofTests.some((question) => question.test(source)))
    const script = statements.flatMap(({ source, name, sql, names }) => {
      const asked = recorder.statements.get(source) ?? {}
      // The first window of a search began before all ids, and is to have as few rows as it had.
      const given = asked['first'] === '' || asked['first'] === '+' ? { ...asked, first: 'em_01' } : asked
      const values = names.map((parameter) => sqlLiteral(given[parameter] ?? null))
      const explain = `explain (costs off) execute ${name}${values.length > 0 ? `(${values.join(', ')})` : ''};`
      // By the sixth time it has been decided whether there is one plan for whatever values.
      const decided = Array.from({ length: 5 }, () => explain)
      return [`prepare ${name} as ${sql};`, '\\o /dev/null', ...decided, '\\o', explain, `\\echo '\\x1c'`]
    })
    const plans = (await postgres.run(script.join('\n'))).split('\x1c\n')
    const scans = statements.flatMap(({ source }, place) => {
      const tables = Array.from(plans[place]?.matchAll(/Seq Scan on (\w+)/g) ?? [], ([, table = '']) => table)
      const isKnown = wholeQueue.some((piece) => source.includes(piece))
      return tables.filter((table) => largeTables.includes(table) && !isKnown).map((table) => `${table}: ${source}`)
    })
    expect(plans).toHaveLength(statements.length + 1)
    expect(scans).toEqual([])
  },
)

/** What the relay's life and this file ask to see how far they are. */
const ofTests = [/^select \* from \w+$/, /forward_path = '/, /where state = 'attempting' or next_attempt_at <= :now/]

/** What reads the whole queue, as it says: an operator's look at a destination or order about it, a copy that is started, a removed domain. */
const wholeQueue = [
  'where destination = :destination and due_at is not null order by due_at nulls first, id limit 100',
  'update recipient set held = 1 where destination = :destination',
  'insert into copied',
  'update recipient set held = 2 where due_at is not null',
  'select distinct m.domain_id as id',
]

test('text sorts and folds as in SQLite', async () => {
  const table = postgresSchema('create temp table word (name text)')
  const found = await postgres.run(
    `${table}; insert into word values ('a_'), ('b'), ('É'), ('aa'), ('B'); select lower(name) from word order by name;`,
  )
  expect(found.trim().split('\n')).toEqual(['b', 'a_', 'aa', 'b', 'É'])
})

/** Every statement by a name of its own. */
const prepared = () =>
  Array.from(recorder.statements.keys(), (source, place) => ({ source, name: `s${place}`, ...postgresStatement(source) }))

/** A row as psql prints it with these separators. */
const line = (row: Row): string => Object.values(row).map(printed).join('\x1f')

const printed = (value: Value): string =>
  value === null ? '\x1d' : value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : String(value)

/** Rows without an order may come in any. */
const inOrder = (sql: string, rows: string[]): string[] => (/^\s*select\b.*\border by\b/s.test(sql) ? rows : rows.toSorted())
