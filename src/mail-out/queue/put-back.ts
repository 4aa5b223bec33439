import type { Statement } from '../../platform/store/database.ts'

/** Puts a recipient back unchanged, because its destination is in backoff. */
export const putBack = (id: string, owner: string): Statement => ({
  sql: 'update recipient set owner = null where id = :id and owner = :owner',
  params: { id, owner },
  expect: 1,
})

/**
 * Puts a recipient back untried, because no connection to its host was free. One that was due before it expired becomes due before that
 * again, so that it gets the attempt it was due for (see `isOver`).
 */
export const postpone = (id: string, owner: string, dueAt: number): Statement => ({
  sql: `update recipient
           set owner = null, due_at = :dueAt,
               expires_at = case
                 when due_at < expires_at and expires_at <= :dueAt
                  and not exists (select 1 from message where id = recipient.message_id and expires_in is not null) then :dueAt + 1
                 else expires_at end
         where id = :id and owner = :owner`,
  params: { id, owner, dueAt },
  expect: 1,
})

/** The same where the message cannot be read, not even to see whether it may be late: it must not expire before that is mended. */
export const postponeUnread = (id: string, owner: string, dueAt: number): Statement => ({
  sql: `update recipient
           set owner = null, due_at = :dueAt,
               expires_at = case when due_at < expires_at and expires_at <= :dueAt then :dueAt + 1 else expires_at end
         where id = :id and owner = :owner`,
  params: { id, owner, dueAt },
  expect: 1,
})

/** Puts scheduled mail of a suspended account back untried; conflicts if the account is no longer suspended. */
export const holdSuspended = (
  id: string,
  owner: string,
  { accountId, dueAt, reason }: { accountId: string; dueAt: number; reason: string },
): Statement => ({
  sql: `update recipient set owner = null, state = 'scheduled', due_at = :dueAt, last_response = :reason
         where id = :id and owner = :owner
           and exists (select 1 from account where id = recipient.account_id and status = 'suspended')`,
  params: { id, owner, dueAt, reason },
  expect: 1,
  locks: accountId,
})

/**
 * Puts mail of an account that the server suspended back unchanged, and holds it: it is not claimed, and does not expire. Conflicts if the
 * account is no longer suspended.
 */
export const holdHarmful = (id: string, owner: string, accountId: string): Statement => ({
  sql: `update recipient set owner = null, held = 3
         where id = :id and owner = :owner
           and exists (select 1 from account where id = recipient.account_id and status = 'suspended' and harm is not null)`,
  params: { id, owner },
  expect: 1,
  locks: accountId,
})
