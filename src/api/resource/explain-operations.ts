import { z } from 'zod'
import type { StsPolicy } from '../../mail-out/mta-sts/sts-policy.ts'
import { tlsPolicies } from '../../platform/config/recipient-tls.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { parsePasted } from '../../platform/smtp/mailbox.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { textParameter } from '../operation/query.ts'
import { timeAnswer } from '../operation/resource.ts'
import { queueDestination } from './queue-operations.ts'
import type { Needs } from './operation-services.ts'

export const explanation = z
  .object({
    object: z.literal('explanation'),
    to: z.string(),
    destination: z.string(),
    next: z
      .enum(['deliver', 'defer', 'bounce', 'simulate', 'hold'])
      .describe(
        '`deliver`: a host is contacted. `defer`, `bounce`: no host is contacted. `hold`: an operator is holding the mail for it. ' +
          'Suppressions are checked before.',
      ),
    reason: z.string().nullable(),
    route: z.object({
      hosts: z.array(z.object({ name: z.string(), address: z.string(), port: z.int() })).describe('In the order in which they are tried.'),
      via_smarthost: z.boolean(),
      route_id: z.string().nullable().describe('The route that mail takes unless a route names its sender. Null: none.'),
      depends_on_sender: z
        .boolean()
        .describe('Whether routes send the mail of some accounts or sending domains another way: see `routes.explain`.'),
    }),
    tls: z.object({
      policy: z.enum(tlsPolicies).describe('What the setting `delivery.recipient_tls` requires. An account may have a list of its own.'),
      mta_sts: z
        .object({ mode: z.enum(['enforce', 'testing']), mx: z.array(z.string()), expires_at: timeAnswer })
        .nullable()
        .describe(
          "The MTA-STS policy of the address's domain that mail goes by, as it is known; null: none. Behind a smarthost, that of its name.",
        ),
      enforced_by: z.array(z.string()).describe('Sending domains whose mail requires TLS with a valid certificate.'),
    }),
    suppressions: z.array(
      z.object({
        account_id: z.string(),
        account: z.string(),
        origin: z.string(),
        topic: z.string().nullable(),
        reason: z.string().nullable(),
        created_at: timeAnswer,
      }),
    ),
    queue: queueDestination.schema.nullable().describe('The mail that waits for the destination.'),
  })
  .meta({ id: 'Explanation' })

const at = operationsAt({ path: '/api/explain', tag: 'Operation', permission: 'operator' })

/** `/api/explain` */
export const explainOperations = (services: Needs<'explain'>): Operation[] => [
  at.get('explain.address', '', 'Predict what would happen to mail for an address', {
    description: 'Looks up names, but connects to nobody.',
    query: { to: textParameter.meta({ description: 'The address.', required: true }) },
    answer: ['Where it would go, and what stands in its way.', explanation],
    handle: async ({ query: { to } }) => {
      const parsed = parsePasted(to ?? '')
      if (!parsed.ok) throw new SternaError('invalid_parameter', `The parameter to must be an address. ${parsed.fault}`)
      const explained = await services.explain(parsed)
      const { next, reason, hosts, tlsPolicy, sts, tlsEnforcedBy, suppressions, queue } = explained
      return {
        object: 'explanation' as const,
        to: parsed.address,
        destination: parsed.domain,
        next,
        reason,
        route: {
          hosts: hosts.map(({ name, address, port }) => ({ name, address, port })),
          via_smarthost: explained.viaSmarthost,
          route_id: explained.routeId,
          depends_on_sender: explained.dependsOnSender,
        },
        tls: { policy: tlsPolicy, mta_sts: sts && stsAnswer(sts), enforced_by: tlsEnforcedBy },
        suppressions: suppressions.map((entry) => ({
          account_id: entry.account_id,
          account: entry.account,
          origin: entry.origin,
          topic: entry.topic === '' ? null : entry.topic,
          reason: entry.reason,
          created_at: isoTime(entry.created_at),
        })),
        queue: queue && queueDestination.answer(queue),
      }
    },
  }),
]

const stsAnswer = ({ mode, mx, expiresAt }: StsPolicy & { expiresAt: number }) => ({
  mode: mode === 'enforce' ? ('enforce' as const) : ('testing' as const),
  mx,
  expires_at: isoTime(expiresAt),
})
