import { SternaError } from '../../errors.ts'
import type { SendingDomains } from '../../sending-domain/sending-domains.ts'
import { type Operation, operation } from '../operation.ts'
import { domainAnswer, domainSchema } from './domain-resource.ts'

interface ServerDomainServices {
  sendingDomains: SendingDomains
}

/** `/api/server/domain` */
export const serverDomainOperations = ({ sendingDomains }: ServerDomainServices): Operation[] => [
  operation({
    id: 'server.get_domain',
    method: 'GET',
    path: '/api/server/domain',
    tag: 'Operation',
    summary: "Read the server's own domain",
    description:
      'Delivery notices, and mail that is handed on to the operator, come from the name of this server. Publish its ' +
      '`records`: until its DKIM record is seen, that mail leaves unsigned. It is looked for every hour.',
    permission: 'operator',
    answers: [{ status: 200, description: 'The domain with the DNS records to publish.', schema: domainSchema }],
    refuses: ['not_found'],
    handle: () => {
      const domain = sendingDomains.systemDomain()
      if (domain) return domainAnswer(domain, sendingDomains)
      throw new SternaError('not_found', 'This server has no name in the DNS. Set hostname (STERNA_HOSTNAME) to one, and start it anew.')
    },
  }),
]
