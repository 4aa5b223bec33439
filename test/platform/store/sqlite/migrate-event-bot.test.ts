import { expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../../../src/platform/store/schema-steps.ts'
import { migrate } from '../../../../src/platform/store/sqlite/migrate.ts'
import { openWriter } from '../../../../src/platform/store/sqlite/sqlite-connection.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const upgrade = migrations().find(({ version }) => version === 51)?.sql ?? ''

/** A log of the schema before, of which webhooks have read the first two events. */
function oldLog(webhookStatus: 'enabled' | 'disabled') {
  const { path, remove } = temporaryDirectory()
  const connection = openWriter(path)
  onTestFinished(() => {
    connection.close()
    remove()
  })
  migrate(
    connection,
    migrations().filter(({ version }) => version < 51),
  )
  connection.exec(`
    insert into account (id, name, plan, status, created_at) values ('acc_1', 'a', 'free', 'active', 0);
    insert into cursor (name, position) values ('webhook', 2);
    insert into webhook (id, account_id, url, events, payload, sandbox, status, secret, after_seq, created_at, updated_at)
      values ('wh_1', 'acc_1', 'https://a.example/', ',email.opened,', 'standard', 0, '${webhookStatus}', x'00', 1, 0, 0)`)
  const insert = connection.prepare(
    `insert into event (id, account_id, message_id, type, sandbox, created_at, data) values (?, 'acc_1', 'em_1', ?, 0, 0, ?)`,
  )
  for (const [place, [type, data]] of [
    ['email.opened', { bot: true, bot_reason: 'burst', bot_confidence: 0.9 }],
    ['email.opened', { bot: false, bot_reason: null, bot_confidence: 0 }],
    ['email.opened', { bot: true, bot_reason: null, bot_confidence: 1 }],
    ['email.clicked', { link: 'https://a.example/?"bot":true', bot: false, bot_reason: null, bot_confidence: 0 }],
    ['email.delivered', {}],
  ].entries())
    insert.run(`evt_${place}`, type, JSON.stringify(data))
  return connection
}

test('what webhooks have yet to read says whether a machine did it', () => {
  const connection = oldLog('enabled')
  migrate(connection)
  expect(connection.prepare('select bot from event order by seq').pluck().all()).toEqual([null, null, 1, 0, null])
})

test('where no webhook waits for the log, none of it is touched, and otherwise only its end is read', () => {
  const connection = oldLog('disabled')
  connection.exec('alter table event add column bot bigint')
  const plan = connection.prepare(`explain query plan ${upgrade.slice(upgrade.indexOf('update event'))}`).all() as { detail: string }[]
  expect(plan[0]?.detail).toBe('SEARCH event USING INTEGER PRIMARY KEY (rowid>?)')
  connection.exec('alter table event drop column bot')
  migrate(connection)
  expect(connection.prepare('select bot from event order by seq').pluck().all()).toEqual([null, null, null, null, null])
})
