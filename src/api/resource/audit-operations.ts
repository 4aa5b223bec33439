import { z } from 'zod'
import { actorTypes, type AuditLog, type AuditRow } from '../../senders/account/audit-log.ts'
import { mayDo } from '../operation/caller.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { endParameter, textParameter, timeParameter } from '../operation/query.ts'
import { resource, time } from '../operation/resource.ts'

/** A change as the API and an export show it. */
export const auditEntry = resource<AuditRow>('AuditEntry')({
  object: 'audit_entry',
  id: z.string(),
  account_id: z.string().nullable().describe("The actor's account; for a command, the account that it was about."),
  actor: [
    z.object({ type: z.enum(actorTypes), id: z.string().nullable(), name: z.string() }),
    (row) => ({ type: row.actor_type, id: row.actor_id, name: row.actor_name }),
  ],
  action: [z.string().describe('The `operationId`, or the command.'), 'operation'],
  object_id: z.string().nullable(),
  fields: [
    z.array(z.string()).describe('The names of the fields that were given, never their values.'),
    ({ fields }) => (fields === '' ? [] : fields.split(',')),
  ],
  address: z.string().nullable().describe('Where the client is.'),
  request_id: z.string().nullable(),
  created_at: time(),
})

const at = operationsAt({ path: '/api/audit', tag: 'Audit', permission: 'user_management' })

/** `/api/audit` */
export const auditOperations = ({ audit }: { audit: Pick<AuditLog, 'page'> }): Operation[] => [
  at.list('audit.list', '', 'List changes', {
    description:
      'Who changed what, and from where, including on the command line: those of your account, and for operators of all. Sending is not listed here; see the emails themselves.',
    query: {
      account_id: textParameter.meta({ description: 'Only changes of this account; operators see all accounts.' }),
      actor: textParameter.meta({ description: 'The id of a key or a user, or `command`.' }),
      request_id: textParameter.meta({ description: 'What this request changed: its `X-Request-Id`.' }),
      action: textParameter.meta({ description: 'Such as `api_keys.create`.' }),
      since: timeParameter,
      until: endParameter,
    },
    answer: ['The changes, newest first.', auditEntry],
    rows: ({ caller, query }, page) => {
      const { accountId } = caller
      const { actor, action: operation, request_id: requestId, since, until } = query
      const filter = { actor, operation, requestId, since, until }
      if (mayDo(caller, 'operator')) return audit.page({ ...filter, accountId: query.account_id }, page)
      if (query.account_id !== null && query.account_id !== accountId) return []
      return audit.page({ ...filter, accountId }, page)
    },
  }),
]
