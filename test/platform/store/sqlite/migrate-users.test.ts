import { expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../../../src/platform/store/schema-steps.ts'
import { migrate } from '../../../../src/platform/store/sqlite/migrate.ts'
import { openWriter } from '../../../../src/platform/store/sqlite/sqlite-connection.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const tables = ['account_user', 'recovery_code', 'user_session', 'passkey']

test('users keep all that is theirs when an address becomes unique in its account alone', () => {
  const { path, remove } = temporaryDirectory()
  const connection = openWriter(path)
  onTestFinished(() => {
    connection.close()
    remove()
  })
  migrate(
    connection,
    migrations().filter(({ version }) => version < 37),
  )
  connection.exec(`
    insert into account (id, name, plan, status, created_at) values ('acc_1', 'one', 'free', 'active', 1), ('acc_2', 'two', 'free', 'active', 2);
    insert into account_user values ('usr_1', 'acc_1', 'ann@one.example', 'owner', 1, '$hash', 'digest', 3, x'01', 4, x'02', 5, 6);
    insert into account_user values ('usr_2', 'acc_2', 'bob@two.example', 'viewer', 0, null, null, null, null, 0, null, 7, null);
    insert into recovery_code values ('usr_1', 'code');
    insert into user_session values ('ses_1', 'usr_1', 'cookie', '192.0.2.1', 'agent', 8, 9);
    insert into passkey values ('pky_1', 'usr_1', 'credential', x'03', 10, 'usb', 'Laptop', 11, 12);
  `)
  const rows = () => tables.map((table) => connection.prepare(`select * from ${table} order by 1`).all())
  const before = rows()
  migrate(connection)
  expect(rows()).toEqual(before)
  const again = `insert into account_user (id, account_id, email, role, operator, created_at) values (?, ?, 'ann@one.example', 'member', 0, 1)`
  connection.prepare(again).run('usr_3', 'acc_2')
  expect(() => connection.prepare(again).run('usr_4', 'acc_1')).toThrow(/UNIQUE/)
  expect(() => connection.exec("delete from account_user where id = 'usr_1'")).toThrow(/FOREIGN KEY/)
  expect(connection.prepare("select name from sqlite_master where name like 'old_%'").all()).toEqual([])
})
