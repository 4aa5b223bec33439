import { z } from 'zod'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import type { Needs } from './operation-services.ts'

export const serverAddress = z
  .object({
    object: z.literal('server'),
    version: z.string(),
    mode: z.enum(['live', 'sandbox']).describe('In `sandbox` mode no mail leaves the machine, whichever key submits it.'),
    hostname: z.string().describe('Where apps hand over mail by SMTP.'),
    base_url: z.string().describe('Where the API is reached from outside.'),
    smtp: z.array(
      z.object({
        port: z.int().describe('Where the server listens; a container may map another port to it.'),
        tls: z.enum(['starttls', 'implicit']).describe('`implicit`: TLS from the first byte (RFC 8314).'),
      }),
    ),
  })
  .meta({ id: 'Server' })

const at = operationsAt({ path: '/api/server', tag: 'Server', permission: null })

/** `/api/server` */
export const serverAddressOperations = ({ config, version }: Needs<'config' | 'version'>): Operation[] => [
  at.get('server.get', '', 'Read where apps hand over mail', {
    answer: ['The addresses and ports of this server.', serverAddress],
    handle: () => {
      const { mode, hostname, baseUrl, submission } = config
      const ports = [
        ...submission.listen.map(({ port }) => ({ port, tls: 'starttls' as const })),
        ...submission.tlsListen.map(({ port }) => ({ port, tls: 'implicit' as const })),
      ]
      return { object: 'server' as const, version, mode, hostname, base_url: baseUrl, smtp: ports }
    },
  }),
]
