import { expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../../../src/platform/store/schema-steps.ts'
import { migrate } from '../../../../src/platform/store/sqlite/migrate.ts'
import { openWriter } from '../../../../src/platform/store/sqlite/sqlite-connection.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

test('what was counted stays, by the quarter of an hour, the hour and the day', () => {
  const { path, remove } = temporaryDirectory()
  const connection = openWriter(path)
  onTestFinished(() => {
    connection.close()
    remove()
  })
  migrate(
    connection,
    migrations().filter(({ version }) => version < 21),
  )
  const at = Date.UTC(2026, 9, 20, 10)
  const insert = connection.prepare(`insert into rollup values ('acc_1', ?, ?, 'dom_1', ?, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)`)
  for (const [tag, quarter, sent] of [
    ['', 0, 1],
    ['', 3, 10],
    ['', 4, 100],
    ['kind=a', 0, 1],
  ] as const)
    insert.run(tag, at + quarter * 900_000, sent)
  migrate(connection)
  const rows = connection
    .prepare('select breakdown, value, span, start, sent, opened, bot_opened, unique_clicked from rollup order by breakdown, span, start')
    .all()
  const all = { breakdown: '', value: '', bot_opened: 0 }
  const tagged = { breakdown: 'tag', value: 'kind=a', sent: 1, opened: 3, bot_opened: 0, unique_clicked: 13 }
  expect(rows).toEqual([
    { ...all, span: 900_000, start: at, sent: 1, opened: 3, unique_clicked: 13 },
    { ...all, span: 900_000, start: at + 2_700_000, sent: 10, opened: 3, unique_clicked: 13 },
    { ...all, span: 900_000, start: at + 3_600_000, sent: 100, opened: 3, unique_clicked: 13 },
    { ...all, span: 3_600_000, start: at, sent: 11, opened: 6, unique_clicked: 26 },
    { ...all, span: 3_600_000, start: at + 3_600_000, sent: 100, opened: 3, unique_clicked: 13 },
    { ...all, span: 86_400_000, start: at - 36_000_000, sent: 111, opened: 9, unique_clicked: 39 },
    { ...tagged, span: 900_000, start: at },
    { ...tagged, span: 3_600_000, start: at },
    { ...tagged, span: 86_400_000, start: at - 36_000_000 },
  ])
})
