import { z } from 'zod'
import { numberOfId } from '../../../platform/id.ts'
import type { AttemptRow, FoundRecipient } from '../../../mail/message/message-reader.ts'
import { labelOf, type Tag } from '../../../mail/message/send-limits.ts'
import type { ApiContext } from '../api-state.ts'
import { smallBodyLimit } from '../../operation/body-limits.ts'
import { jsonBody } from '../json-body.ts'
import { validate } from '../../operation/validate.ts'
import type { CompatAction, CompatServices } from './compat-api.ts'
import { postalError, postalSuccess } from './postal-answer.ts'

/** As many as one recipient ever has: attempts are hours apart in the end. */
const maxDeliveries = 100

const asked = z.looseObject({
  id: z.union(
    [
      z.int().min(0),
      z
        .string()
        .regex(/^\d{1,16}$/)
        .transform(Number),
    ],
    { error: 'must be the id of a message' },
  ),
  _expansions: z.union([z.boolean(), z.array(z.string())]).optional(),
})
type Asked = z.output<typeof asked>

/** `messages/message` and `messages/deliveries`. Of the expansions there are `status` and `details`. */
export const postalMessageActions = ({ messages }: Pick<CompatServices, 'messages'>): CompatAction[] => {
  const about =
    (tell: (found: FoundRecipient, given: Asked) => object | Promise<object>) =>
    async (ctx: ApiContext): Promise<object> => {
      const given = validate(asked, await jsonBody(ctx.req, { limit: smallBodyLimit }))
      const found = await messages.findByNumber(ctx.state.caller, given.id)
      if (found) return postalSuccess(await tell(found, given))
      return postalError('MessageNotFound', { message: 'No message found matching provided ID', id: given.id })
    }
  return [
    { method: 'POST', path: '/api/v1/messages/message', permission: 'read_access', handle: about(messageObject) },
    {
      method: 'POST',
      path: '/api/v1/messages/deliveries',
      permission: 'read_access',
      handle: about(async ({ message_id: messageId, forward_path: address }) => {
        const attempts = await messages.attempts(messageId, { limit: maxDeliveries, after: null, before: null })
        return attempts.filter((attempt) => attempt.forward_path === address).map(deliveryObject)
      }),
    },
  ]
}

function messageObject(found: FoundRecipient, { _expansions: wanted = [] }: Asked): object {
  const wants = (name: string): boolean => wanted === true || (Array.isArray(wanted) && wanted.includes(name))
  return {
    id: numberOfId(found.id),
    token: found.id,
    ...(wants('status') ? { status: statusOf(found) } : {}),
    ...(wants('details') ? { details: detailsOf(found) } : {}),
  }
}

const statusOf = (found: FoundRecipient): object => ({
  status: statusName(found),
  last_delivery_attempt: found.last_attempt_at === null ? null : found.last_attempt_at / 1000,
  held: found.state === 'suppressed',
  hold_expiry: null,
})

function statusName({ state, delivered_at: deliveredAt }: FoundRecipient): string {
  switch (state) {
    case 'delivered':
    case 'complained':
      return 'Sent'
    case 'deferred':
      return 'SoftFail'
    case 'bounced':
      return deliveredAt === null ? 'HardFail' : 'Bounced'
    case 'failed':
    case 'canceled':
      return 'HardFail'
    case 'suppressed':
      return 'Held'
    default:
      return 'Pending'
  }
}

const detailsOf = (found: FoundRecipient): object => ({
  rcpt_to: found.forward_path,
  mail_from: found.reverse_path,
  subject: found.subject,
  message_id: found.message_id_header.replace(/^<|>$/g, ''),
  timestamp: found.created_at / 1000,
  direction: 'outgoing',
  size: String(found.size),
  bounce: false,
  bounce_for_id: 0,
  tag: (JSON.parse(found.tags) as Tag[]).map(labelOf)[0] ?? null,
  received_with_ssl: null,
})

const outcomes = { delivered: 'Sent', deferred: 'SoftFail', bounced: 'HardFail' } as const

const deliveryObject = (attempt: AttemptRow): object => ({
  id: numberOfId(attempt.id),
  status: outcomes[attempt.outcome],
  details:
    attempt.mx_host === null
      ? 'No host was reached'
      : `Tried to deliver by SMTP to ${attempt.mx_host} (${attempt.address ?? 'no address'})`,
  output: attempt.reply ?? '',
  sent_with_ssl: attempt.tls !== null,
  log_id: attempt.id,
  time: attempt.duration_ms / 1000,
  timestamp: attempt.started_at / 1000,
})
