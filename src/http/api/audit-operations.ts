import { z } from 'zod'
import { actorTypes, type AuditLog, type AuditRow } from '../../account/audit-log.ts'
import { isoTime } from '../../iso-time.ts'
import { operation, type Operation } from '../operation.ts'
import { listBody, listOf, pageOf, pageParameters } from '../page.ts'
import { textParameter, timeParameter } from '../query.ts'
import { timeAnswer } from '../time-field.ts'

const changeAnswer = z
  .object({
    object: z.literal('audit_entry'),
    id: z.string(),
    account_id: z.string().nullable().describe('The account of the one who did it; of a command, the account it was about.'),
    actor: z.object({ type: z.enum(actorTypes), id: z.string().nullable(), name: z.string() }),
    action: z.string().describe('The `operationId`, or the command.'),
    object_id: z.string().nullable(),
    fields: z.array(z.string()).describe('Names of the fields that were given, never what was in them.'),
    address: z.string().nullable().describe('Where the client is.'),
    request_id: z.string().nullable(),
    created_at: timeAnswer,
  })
  .meta({ id: 'AuditEntry' })

/** `/api/audit` */
export const auditOperations = ({ audit }: { audit: Pick<AuditLog, 'page'> }): Operation[] => [
  operation({
    id: 'audit.list',
    method: 'GET',
    path: '/api/audit',
    tag: 'Audit',
    summary: 'List changes',
    description: 'Who changed what, and from where, on the command line too. Sending is told by the emails themselves.',
    permission: 'operator',
    query: {
      ...pageParameters,
      account_id: textParameter,
      actor: textParameter.meta({ description: 'The id of a key or of a user, or `command`.' }),
      action: textParameter.meta({ description: 'Such as `api_keys.create`.' }),
      since: timeParameter,
      until: timeParameter,
    },
    answers: [{ status: 200, description: 'The changes, the newest first.', schema: listOf(changeAnswer) }],
    handle: async (_, { query }) => {
      const page = pageOf(query)
      const filter = { ...query, accountId: query.account_id, operation: query.action }
      return listBody(await audit.page(filter, page), page, changeObject)
    },
  }),
]

const changeObject = (row: AuditRow) => ({
  object: 'audit_entry' as const,
  id: row.id,
  account_id: row.account_id,
  actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name },
  action: row.operation,
  object_id: row.object_id,
  fields: row.fields === '' ? [] : row.fields.split(','),
  address: row.address,
  request_id: row.request_id,
  created_at: isoTime(row.created_at),
})
