import { expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../../../src/platform/store/schema-steps.ts'
import { migrate } from '../../../../src/platform/store/sqlite/migrate.ts'
import { openWriter } from '../../../../src/platform/store/sqlite/sqlite-connection.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

test('versions that were published before are numbered in the order of their publication, drafts are not', () => {
  const { path, remove } = temporaryDirectory()
  const connection = openWriter(path)
  onTestFinished(() => {
    connection.close()
    remove()
  })
  migrate(
    connection,
    migrations().filter(({ version }) => version < 22),
  )
  connection.pragma('foreign_keys = off')
  const insert = connection.prepare(
    `insert into template_version (id, template_id, html_body, reply_to, variables, created_at, published_at) values (?, ?, 'x', '[]', '[]', 0, ?)`,
  )
  const versions: [id: string, template: string, publishedAt: number | null][] = [
    ['a', 'one', 300],
    ['b', 'one', 100],
    ['c', 'one', 300],
    ['d', 'one', null],
    ['e', 'two', 200],
    ['f', 'three', null],
  ]
  for (const version of versions) insert.run(...version)
  migrate(connection)
  expect(connection.prepare('select id, number from template_version order by id').raw().all()).toEqual([
    ['a', 2],
    ['b', 1],
    ['c', 3],
    ['d', null],
    ['e', 1],
    ['f', null],
  ])
})
