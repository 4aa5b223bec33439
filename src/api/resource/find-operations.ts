import { z } from 'zod'
import { scopeParams } from '../../senders/account/account-scope.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'

const found = z
  .object({
    object: z.literal('found'),
    id: z.string(),
    email_id: z.string().nullable().describe('The email that it is about.'),
    webhook_id: z.string().nullable().describe('The webhook that it was posted to.'),
    delivery_id: z.string().nullable().describe('The delivery to that webhook.'),
  })
  .meta({ id: 'Found' })

interface Where extends Record<string, string | null> {
  email_id: string | null
  webhook_id: string | null
  delivery_id: string | null
}

const ofEmail = (table: string): string =>
  `select message.id as email_id, null as webhook_id, null as delivery_id from ${table} part join message on message.id = part.message_id
    where part.id = :id and message.account_id = :accountId and message.sandbox = :sandbox`

const ofWebhook = (condition: string): string =>
  `select null as email_id, w.id as webhook_id, d.id as delivery_id from webhook_delivery d join webhook w on w.id = d.webhook_id
    where d.id = ${condition} and w.account_id = :accountId and w.sandbox = :sandbox`

/** Where an object belongs that has no endpoint of its own, by the prefix of its id. */
const queries: Record<string, string> = {
  rcp: ofEmail('recipient'),
  att: ofEmail('attempt'),
  evt: ofEmail('event'),
  rep: ofEmail('returned_mail'),
  whd: ofWebhook(':id'),
  wha: ofWebhook('(select delivery_id from webhook_attempt where id = :id)'),
}

const at = operationsAt({ path: '/api/find', tag: 'Emails', permission: 'read_access' })

/** `/api/find` */
export const findOperations = (services: { db: Pick<Database, 'slowRead'> }): Operation[] => [
  at.get('find.get', '/{id}', 'Find where an id belongs', {
    description:
      'The email of a recipient, an attempt, an event or a report (`rcp_`, `att_`, `evt_`, `rep_`), and the webhook of a delivery or one of ' +
      'its attempts (`whd_`, `wha_`): for an id that a log or a receiver has.',
    answer: ['Where it belongs.', found],
    handle: async ({ caller, params }) => {
      const id = params.id.toLowerCase()
      const prefix = id.split('_')[0] ?? ''
      const query = Object.hasOwn(queries, prefix) ? queries[prefix] : undefined
      const [row] = query === undefined ? [] : await services.db.slowRead<Where>(query, { id, ...scopeParams(caller) })
      if (!row) throw new SternaError('not_found', 'Nothing has this id.')
      return { object: 'found' as const, id, ...row }
    },
  }),
]
