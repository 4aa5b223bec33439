import { z } from 'zod'
import { stsExpiry, type KnownSts } from '../../mail-out/mta-sts/known-sts.ts'
import { SternaError } from '../../platform/errors.ts'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import { parseDomain } from '../../platform/smtp/domain-name.ts'
import type { CallTo } from '../operation/call.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { resource, timeAnswer } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

const stsPolicy = resource<KnownSts>('MtaStsPolicy')({
  object: 'mta_sts_policy',
  domain: z.string(),
  mode: [
    z.enum(['enforce', 'testing', 'none']).nullable().describe('Null: no policy could be fetched so far.'),
    ({ policy }) => policy?.mode ?? null,
  ],
  mx: [z.array(z.string()).describe('The MX hosts that it lists; `*.` stands for one label.'), ({ policy }) => policy?.mx ?? []],
  policy_id: [z.string().nullable().describe('The id that the DNS announced when the policy was fetched.'), 'id'],
  fetched_at: [timeAnswer.nullable(), ({ fetchedAt }) => isoTimeOrNull(fetchedAt)],
  expires_at: [
    timeAnswer.nullable().describe('Until when it holds, unless it is fetched again.'),
    (known) => isoTimeOrNull(known.policy && stsExpiry(known)),
  ],
  tried_at: [timeAnswer.describe('When fetching it was last tried.'), ({ triedAt }) => isoTimeOrNull(triedAt) ?? ''],
  fault: [
    z
      .object({ type: z.string().describe('As RFC 8460 4.3 calls it.'), reason: z.string() })
      .nullable()
      .describe('Why the last try failed; null if it did not.'),
    'fault',
  ],
})

const refreshed = stsPolicy.schema
  .extend({
    announced_id: z.string().nullable().describe('What the DNS announces now; null: nothing, so what is known holds until it expires.'),
  })
  .meta({ id: 'RefreshedMtaStsPolicy' })

const at = operationsAt({ path: '/api/mta-sts', tag: 'Operation', permission: 'operator' })

/** `/api/mta-sts`: what is known of the policies that recipient domains publish. */
export const mtaStsOperations = (services: Needs<'stsPolicies' | 'outgoingRequests'>): Operation[] => [
  at.get('mta_sts.get', '/{domain}', 'Read the MTA-STS policy of a domain', {
    description: 'As it is known from mail to the domain (RFC 8461), or from a refresh.',
    answer: ['The policy.', stsPolicy.schema],
    handle: async (call) => stsPolicy.answer(await knownIn(domainIn(call), services)),
  }),
  at.post('mta_sts.refresh', '/{domain}/refresh', 'Refresh the MTA-STS policy of a domain', {
    description: 'Asks the DNS, and fetches the policy that it announces at once. Mail goes by what is fetched.',
    refuses: ['rate_limit_exceeded'],
    answer: ['What is known then. It has a `fault` if the policy could not be fetched.', refreshed],
    handle: async (call) => {
      const domain = domainIn(call)
      const id = await services.outgoingRequests.run(call.caller.accountId, () => services.stsPolicies.refresh(domain))
      return { ...stsPolicy.answer(await knownIn(domain, services)), announced_id: id }
    },
  }),
]

/** @throws SternaError `not_found` */
function domainIn({ params }: CallTo<'domain'>): string {
  const parsed = parseDomain(params.domain)
  if (parsed.ok) return parsed.domain
  throw new SternaError('not_found', `${JSON.stringify(params.domain)} is not a domain. ${parsed.fault}`)
}

async function knownIn(domain: string, { stsPolicies }: Needs<'stsPolicies'>): Promise<KnownSts> {
  const known = await stsPolicies.find(domain)
  if (known) return known
  throw new SternaError(
    'not_found',
    `No MTA-STS policy of ${domain} is known. A refresh asks the DNS whether _mta-sts.${domain} announces one.`,
  )
}
