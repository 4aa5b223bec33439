import type { Row } from '../../platform/store/database.ts'
import { tableWindows } from '../../platform/store/table-windows.ts'
import { isWithin, writeChanges, type Change, type Erasing } from './erasing.ts'

interface EntryRow extends Row {
  id: string
  account_id: string
  sandbox: number
  reason: string | null
}

/** Tables with rows per address and account, which are deleted. Add new ones here. */
const rowsByAddress = [{ table: 'soft_bounce', counted: 'soft_bounce_counts' }] as const

/** Renames the address's entries, which keep suppressing it. Removes the address from others' entries. */
export async function eraseSuppressions(erasing: Erasing): Promise<void> {
  const { db, scope, forms, erased } = erasing
  const isMeant = (row: EntryRow): boolean => isWithin(scope, { accountId: row.account_id, isSandbox: row.sandbox === 1 })
  // Uses the index suppression_address.
  const entries = await db.read<EntryRow>('select id, account_id, sandbox, reason from suppression where address = :address', {
    address: forms.address,
  })
  await writeChanges(
    erasing,
    entries.filter(isMeant).flatMap(({ id }) => renamed(id, erased)),
  )
  for await (const window of tableWindows(db, { table: 'suppression', key: 'id', start: '' })) {
    const found = await db.slowRead<EntryRow>(
      'select id, account_id, sandbox, reason from suppression where id > :after and id <= :upto and lower(reason) like :pattern',
      { ...window, pattern: forms.pattern },
    )
    const named = found.filter((row) => isMeant(row) && forms.names(row.reason ?? ''))
    await writeChanges(
      erasing,
      named.map(({ id, reason }) => withReason(id, forms.without(reason ?? '', erased))),
    )
  }
  await removeRows(erasing)
}

/** If an earlier erasure left such an entry, that one stays. */
const renamed = (id: string, erased: string): Change[] => [
  {
    counted: 'suppressions',
    statement: {
      sql: `delete from suppression
             where id = :id and exists (select 1 from suppression o
               where o.account_id = suppression.account_id and o.address = :erased and o.origin = suppression.origin
                 and o.topic = suppression.topic and o.sandbox = suppression.sandbox)`,
      params: { id, erased },
    },
  },
  {
    counted: 'suppressions',
    statement: { sql: 'update suppression set address = :erased, reason = null where id = :id', params: { id, erased } },
  },
]

const withReason = (id: string, reason: string): Change => ({
  counted: 'suppressions',
  statement: { sql: 'update suppression set reason = :reason where id = :id', params: { id, reason } },
})

async function removeRows(erasing: Erasing): Promise<void> {
  const { db, scope, forms } = erasing
  const accounts = scope.accountId === null ? await db.slowRead<{ id: string }>('select id from account') : [{ id: scope.accountId }]
  for (const { table, counted } of rowsByAddress) {
    const changes = accounts.map(({ id: accountId }) => ({
      counted,
      statement: {
        sql: `delete from ${table} where account_id = :accountId and address = :address and (sandbox = 1 or :sandboxOnly = 0)`,
        params: { accountId, address: forms.address, sandboxOnly: scope.sandboxOnly ? 1 : 0 },
      },
    }))
    await writeChanges(erasing, changes)
  }
}
