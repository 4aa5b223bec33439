import type { EventFeed } from '../../event/event-feed.ts'
import type { SendingDomains } from '../../sending-domain/sending-domains.ts'
import type { SuppressionEntries } from '../../suppression/suppression-entries.ts'
import type { TemplateList } from '../../template/template-list.ts'
import type { Webhooks } from '../../webhook/open-webhooks.ts'
import type { AuthenticateParts } from '../authenticate.ts'
import type { EventStreams } from '../event-streams.ts'
import type { Operation } from '../operation.ts'
import { analyticsOperations } from './analytics.ts'
import type { AnalyticsParts } from './analytics.ts'
import { doctorOperations } from './doctor.ts'
import type { DoctorOperationsParts } from './doctor.ts'
import { domainOperations } from './domains.ts'
import { emailOperations } from './emails.ts'
import type { EmailParts } from './emails.ts'
import { eventOperations } from './events.ts'
import { suppressionOperations } from './suppressions.ts'
import { templateOperations } from './templates.ts'
import { webhookOperations } from './webhooks.ts'

/** What the endpoints of the API need, each resource its own. */
export interface ApiParts extends AnalyticsParts, AuthenticateParts, DoctorOperationsParts, EmailParts {
  eventFeed: EventFeed
  eventStreams: EventStreams
  sendingDomains: SendingDomains
  suppressions: SuppressionEntries
  templates: TemplateList
  webhooks: Webhooks
}

/**
 * Every endpoint of the API. The parts are first touched when a request comes, so that the OpenAPI document can be made
 * without a server.
 */
export function apiOperations(parts: ApiParts): Operation[] {
  // `/api/emails/metrics` stands before `/api/emails/{id}`.
  return [...analyticsOperations(parts), ...emailOperations(parts), ...domainOperations(parts), ...templateOperations(parts), ...webhookOperations(parts), ...suppressionOperations(parts), ...eventOperations(parts), ...doctorOperations(parts)]
}
