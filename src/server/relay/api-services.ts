import { coreServices } from '../../api/core-services.ts'
import type { ApiServices } from '../../api/resource/operation-services.ts'
import type { EventStreams } from '../../api/resource/event-streams.ts'
import { SessionEntry } from '../../api/resource/session-entry.ts'
import { UnsubscribeLinks } from '../../mail/suppression/unsubscribe-links.ts'
import { unsubscribeKeys } from '../../mail/suppression/unsubscribe-token.ts'
import { smarthostReportsOf } from './smarthost-reports-of.ts'
import { minuteMs, RateLimiter } from '../../platform/rate-limiter.ts'
import { derivedFrom } from '../../platform/key-generations.ts'
import type { ListenerTools } from './listener-tools.ts'
import type { Services } from './services.ts'

/** Mail providers send many users' requests from a few addresses. */
const unsubscribesPerMinute = 300

/** The services of the operations. */
export const apiServicesOf = (services: Services, tools: ListenerTools & { eventStreams: EventStreams }): ApiServices => ({
  ...services,
  ...tools,
  ...coreServices({ ...services, webhookList: services.webhooks.list }),
  entry: new SessionEntry({ ...services, ...services.people, baseUrl: services.config.baseUrl }),
  smarthostReports: smarthostReportsOf(services),
  unsubscribeLinks: new UnsubscribeLinks({ ...services, keys: derivedFrom(services.secrets, unsubscribeKeys) }),
  unsubscribeLimit: new RateLimiter(services.clock, { limit: unsubscribesPerMinute, windowMs: minuteMs }),
})
