import { expect, onTestFinished, test } from 'vitest'
import { idFloor } from '../../../../src/platform/id.ts'
import { migrations } from '../../../../src/platform/store/schema-steps.ts'
import { migrate } from '../../../../src/platform/store/sqlite/migrate.ts'
import { openWriter } from '../../../../src/platform/store/sqlite/sqlite-connection.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

test('of emails that are older than the log the migration itself says what they are searched by', () => {
  const { path, remove } = temporaryDirectory()
  const connection = openWriter(path)
  onTestFinished(() => {
    connection.close()
    remove()
  })
  migrate(
    connection,
    migrations().filter(({ version }) => version < 19),
  )
  connection.exec("insert into account (id, name, plan, status, created_at) values ('acc_1', 'a', 'free', 'active', 0)")
  const insertMessage = connection.prepare(
    `insert into message (id, account_id, domain_id, source, sandbox, author, header_from, header_to, header_cc, reply_to, subject,
                          message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
     values (?, 'acc_1', ?, 'api', 0, 'app@s.example', '', '[]', '[]', '[]', '', '', 0, '7bit', 0, '[]', '{}', 0)`,
  )
  const insertRecipient = connection.prepare(
    `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, expires_at) values (?, ?, 'acc_1', ?, '', 'to', ?, 0)`,
  )
  const insertEvent = connection.prepare(
    `insert into event (id, account_id, message_id, type, sandbox, created_at, data) values (?, 'acc_1', ?, 'email.sent', 0, 0, '{}')`,
  )
  const [old, young] = [1_000, 3_000].map((at) => `${idFloor('em', at)}${'0'.repeat(16)}`)
  insertMessage.run(old, 'dom_1')
  insertRecipient.run('rcp_1', old, 'Ann@a.example', 'scheduled')
  insertRecipient.run('rcp_2', old, 'bob@a.example', 'delivered')
  insertMessage.run(young, null)
  insertRecipient.run('rcp_3', young, 'cat@a.example', 'delivered')
  insertEvent.run(`${idFloor('evt', 2_000)}${'0'.repeat(16)}`, young)
  migrate(connection)
  const terms = connection.prepare('select term, message_id from search_term order by term').raw().all()
  expect(terms).toEqual(
    ['delivered', 'domain:dom_1', 'from:app@s.example', 'to:ann@a.example', 'to:bob@a.example'].map((term) => [term, old]),
  )
})
