import { expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../../../src/platform/store/schema-steps.ts'
import { migrate } from '../../../../src/platform/store/sqlite/migrate.ts'
import { openWriter } from '../../../../src/platform/store/sqlite/sqlite-connection.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

test('accounts and domains keep their quotas, suppression policy and delivery notices', () => {
  const { path, remove } = temporaryDirectory()
  const connection = openWriter(path)
  onTestFinished(() => {
    connection.close()
    remove()
  })
  migrate(
    connection,
    migrations().filter(({ version }) => version < 49),
  )
  connection.exec(`
    insert into account (id, name, plan, status, created_at, suppress_hard_bounces, suppress_complaints, suppress_soft_bounces, suppression_expiry,
        notices_after)
      values ('acc_1', 'one', 'free', 'active', 1, 0, 1, 5, 7776000000, 17), ('acc_2', 'two', 'free', 'suspended', 1, null, null, 0, null, 0),
             ('acc_3', 'three', 'free', 'active', 1, null, null, null, null, null), ('acc_4', 'acc_4', 'free', 'deleted', 1, 1, 1, 1, 1, null);
    insert into mail_quota values ('acc_1', 1000, -1), ('dom_1', null, 20), ('dom_2', null, null);
  `)
  migrate(connection)
  const rows = connection.prepare('select owner_id, field, value, since from account_policy order by owner_id, field').raw().all()
  expect(rows).toEqual([
    ['acc_1', 'delivery_notices', 'true', 17],
    ['acc_1', 'quota.day', '1000', 0],
    ['acc_1', 'quota.month', '"unlimited"', 0],
    ['acc_1', 'suppression_policy.complaints', 'true', 0],
    ['acc_1', 'suppression_policy.expiry', '7776000000', 0],
    ['acc_1', 'suppression_policy.hard_bounces', 'false', 0],
    ['acc_1', 'suppression_policy.soft_bounces', '5', 0],
    ['acc_2', 'delivery_notices', 'true', 0],
    ['acc_2', 'suppression_policy.soft_bounces', '0', 0],
    ['dom_1', 'quota.month', '20', 0],
  ])
  expect(connection.prepare("select id, name, status from account where status <> 'system' order by id").raw().all()).toEqual([
    ['acc_1', 'one', 'active'],
    ['acc_2', 'two', 'suspended'],
    ['acc_3', 'three', 'active'],
    ['acc_4', 'acc_4', 'deleted'],
  ])
})
