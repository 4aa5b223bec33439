import { expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../../../src/platform/store/schema-steps.ts'
import { migrate } from '../../../../src/platform/store/sqlite/migrate.ts'
import { openWriter } from '../../../../src/platform/store/sqlite/sqlite-connection.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

test('suppressions that rest on the DNS alone are taken back, and no others', () => {
  const { path, remove } = temporaryDirectory()
  const connection = openWriter(path)
  onTestFinished(() => {
    connection.close()
    remove()
  })
  migrate(
    connection,
    migrations().filter(({ version }) => version < 18),
  )
  const insert = connection.prepare(
    `insert into suppression (id, account_id, address, origin, topic, sandbox, reason, created_at) values (?, 'acc_1', ?, ?, '', 0, ?, 0)`,
  )
  const entries = [
    ['ann', 'bounce', '5.1.2 the domain live.example does not exist'],
    ['bob', 'bounce', '5.1.10 the domain live.example takes no mail (null MX)'],
    ['cat', 'bounce', '550 5.1.2 the domain live.example does not exist'],
    ['dan', 'bounce', '550 5.1.1 No such user'],
    ['eve', 'manual', '5.1.2 the domain live.example does not exist'],
    ['fay', 'manual', null],
  ]
  for (const [name, origin, reason] of entries) insert.run(`sup_${name}`, `${name}@live.example`, origin, reason)
  migrate(connection)
  expect(connection.prepare('select id from suppression order by id').pluck().all()).toEqual(['sup_cat', 'sup_dan', 'sup_eve', 'sup_fay'])
})
