import type { Row } from '../../platform/store/database.ts'
import { change, isWithin, searched, writeChanges, type Change, type Erasing } from './erasing.ts'

interface EntryRow extends Row {
  id: string
  account_id: string
  sandbox: number
  reason: string | null
}

/** Renames the address's entries, which keep suppressing it. Removes the address from others' entries. */
export async function eraseSuppressions(erasing: Erasing): Promise<void> {
  const { db, scope, forms, erased } = erasing
  const isMeant = (row: EntryRow): boolean => isWithin(scope, { accountId: row.account_id, isSandbox: row.sandbox === 1 })
  // Uses the index suppression_address.
  const entries = await db.read<EntryRow>('select id, account_id, sandbox, reason from suppression where address = :address', {
    address: forms.address,
  })
  const renaming = entries.filter(isMeant).flatMap(({ id }) => renamed(id, erased))
  await writeChanges(erasing, renaming)
  const sql = 'select id, account_id, sandbox, reason from suppression where id > :after and id <= :upto and lower(reason) like :pattern'
  for await (const found of searched<EntryRow>(erasing, { table: 'suppression', key: 'id', start: '', sql })) {
    const named = found.filter((row) => isMeant(row) && forms.names(row.reason ?? ''))
    await writeChanges(
      erasing,
      named.map(({ id, reason }) => withReason(id, forms.without(reason ?? '', erased))),
    )
  }
  await eraseCounts(erasing)
}

/** If an earlier erasure left such an entry, that one stays. */
const renamed = (id: string, erased: string): Change[] => [
  change(
    'suppressions',
    `delete from suppression
      where id = :id and exists (select 1 from suppression o
        where o.account_id = suppression.account_id and o.address = :erased and o.origin = suppression.origin
          and o.topic = suppression.topic and o.sandbox = suppression.sandbox)`,
    { id, erased },
  ),
  change('suppressions', 'update suppression set address = :erased, reason = null where id = :id', { id, erased }),
]

const withReason = (id: string, reason: string): Change =>
  change('suppressions', 'update suppression set reason = :reason where id = :id', { id, reason })

/** Removes what is counted of soft bounces, and renames what is held against the account: it must not get around its limits by erasing. */
async function eraseCounts(erasing: Erasing): Promise<void> {
  const { db, scope, forms, erased } = erasing
  const accounts = scope.accountId === null ? await db.slowRead<{ id: string }>('select id from account') : [{ id: scope.accountId }]
  const sql = 'delete from soft_bounce where account_id = :accountId and address = :address and (sandbox = 1 or :sandboxOnly = 0)'
  const params = { address: forms.address, sandboxOnly: scope.sandboxOnly ? 1 : 0 }
  const changes = accounts.flatMap(({ id: accountId }) => [
    change('soft_bounce_counts', sql, { ...params, accountId }),
    ...(scope.sandboxOnly ? [] : harmRenamed({ accountId, address: forms.address, erased })),
  ])
  await writeChanges(erasing, changes)
}

/** If an earlier erasure left such a row, that one stays. */
const harmRenamed = (params: { accountId: string; address: string; erased: string }): Change[] => [
  change(
    null,
    `delete from account_harm
      where account_id = :accountId and address = :address and exists (select 1 from account_harm o
        where o.account_id = account_harm.account_id and o.kind = account_harm.kind and o.address = :erased)`,
    params,
  ),
  change(null, 'update account_harm set address = :erased where account_id = :accountId and address = :address', params),
]
