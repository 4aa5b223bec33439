import type { SendingDomains } from '../../sending-domain/sending-domains.ts'
import type { Webhooks } from '../../webhook/open-webhooks.ts'
import type { Operation } from '../operation.ts'
import { domainOperations } from './domains.ts'
import { webhookOperations } from './webhooks.ts'

/** What the endpoints of the API need, each resource its own. */
export interface ApiParts {
  sendingDomains: SendingDomains
  webhooks: Webhooks
}

/**
 * Every endpoint of the API. The parts are first touched when a request comes, so that the OpenAPI document can be made
 * without a server.
 */
export function apiOperations(parts: ApiParts): Operation[] {
  return [...domainOperations(parts), ...webhookOperations(parts)]
}
