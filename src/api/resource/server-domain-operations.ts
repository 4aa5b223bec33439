import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import { type ServerRecord, serverRecordTypes } from '../../senders/sending-domain/server-records.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { domainAnswer, domainSchema } from './domain-resource.ts'

interface ServerDomainServices {
  sendingDomains: SendingDomains
  /** The records to publish for this server. */
  ownRecords(): Promise<ServerRecord[]>
}

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
export const serverDomainOperations = ({ sendingDomains, ownRecords }: ServerDomainServices): Operation[] => [
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
