import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { serverRecordTypes } from '../../senders/sending-domain/server-records.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { domainAnswer, domainSchema } from './domain-resource.ts'
import type { Needs } from './operation-services.ts'

const serverRecord = z.object({
  name: z.string(),
  type: z.enum(serverRecordTypes).meta({ description: 'A PTR record belongs to whoever the address belongs to, most often the provider.' }),
  value: z.string(),
  priority: z.int().optional().meta({ description: 'Of an MX record.' }),
})
export const serverDomain = domainSchema
  .extend({
    server_records: z.array(serverRecord).meta({ description: 'The addresses of this server, the MX of its return path, and PTR.' }),
  })
  .meta({ id: 'ServerDomain' })

const at = operationsAt({ path: '/api/server/domain', tag: 'Operation', permission: 'operator' })

/** `/api/server/domain` */
export const serverDomainOperations = ({ sendingDomains, ownRecords }: Needs<'sendingDomains' | 'ownRecords'>): Operation[] => [
  at.get('server.get_domain', '', "Read the server's own domain", {
    description:
      'Delivery notices, and mail that is handed on to the operator, come from the name of this server. Publish its ' +
      '`records` and the `server_records`: until its DKIM record is seen, that mail leaves unsigned. It is looked for every hour.',
    answer: ['The domain with the DNS records to publish.', serverDomain],
    refuses: ['not_found'],
    handle: async () => {
      const domain = sendingDomains.systemDomain()
      if (domain) return { ...domainAnswer(domain, sendingDomains), server_records: await ownRecords() }
      throw new SternaError('not_found', 'This server has no name in the DNS. Set hostname (STERNA_HOSTNAME) to one, and start it anew.')
    },
  }),
]
