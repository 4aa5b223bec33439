import { z } from 'zod'
import { partsOfStop } from '../../mail-out/delivery/stop-key.ts'
import type { StopRow } from '../../mail-out/queue/provider-stop-list.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listOf, wholeList } from '../operation/page.ts'
import { resource, time } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

/** A stop, as the API and the command line show it. */
export const providerStop = resource<StopRow>('ProviderStop')({
  object: 'provider_stop',
  group: [
    z
      .string()
      .describe(
        'The destinations: `provider:` and the name of the provider, or `site:` and the MX hosts that they share, or their domain.',
      ),
    ({ key }) => partsOfStop(key).group,
  ],
  source_address: [
    z.string().nullable().describe('The address of this server that they refuse. Null: whichever of `family` the system chooses.'),
    ({ key }) => partsOfStop(key).source,
  ],
  family: [
    z.enum(['ipv4', 'ipv6']).describe('Mail over the other family goes on, unless that has an entry too.'),
    ({ key }) => (partsOfStop(key).family === 6 ? 'ipv6' : 'ipv4'),
  ],
  until: time('When one message is tried.'),
  refused_probes: [z.int().describe('How many of the messages that were tried in this way were refused.'), 'step'],
  reason: z.string().describe('The reply of their host.'),
})

const at = operationsAt({ path: '/api/shaping', tag: 'Operation', permission: 'operator' })

/** `/api/shaping` */
export const shapingOperations = (services: Needs<'providerStops'>): Operation[] => [
  at.get('shaping.list', '', 'List the providers that get no mail for now', {
    description:
      'Such a provider refuses the address of this server, or how much it sends, so its mail waits. At the given time one message is ' +
      'tried: if it is accepted, the rest follows.',
    answer: ['All of them, by their groups, always on one page.', listOf(providerStop.schema)],
    handle: async () => wholeList((await services.providerStops()).map(providerStop.answer)),
  }),
]
