import type { Core } from '../../api/core.ts'
import { coreServices } from '../../api/core-services.ts'
import type { ApiServices } from '../../api/resource/operation-services.ts'
import type { EventStreams } from '../../api/resource/event-streams.ts'
import { SessionEntry } from '../../api/resource/session-entry.ts'
import { minuteMs, RateLimiter } from '../../platform/rate-limiter.ts'
import { UnsubscribeLinks } from '../../mail/suppression/unsubscribe-links.ts'
import { unsubscribeKeys } from '../../mail/suppression/unsubscribe-token.ts'
import type { ListenerTools } from './listener-tools.ts'
import type { Services } from './services.ts'

/** Mail providers send many users' requests from a few addresses. */
const unsubscribesPerMinute = 300

/** The services of the operations. */
export function apiServicesOf(
  services: Services,
  { composer, messageParser, previews, linkVisitor, refusedLogins }: ListenerTools,
  eventStreams: EventStreams,
): ApiServices {
  const { core, queue, returnedMail, rollup, webhooks, intake, version, resetRequests, loginChanges } = services
  const { config, clock, audit, people } = core
  const { sessions, devices } = people
  return {
    ...coreServices(core, {
      ...services,
      webhookList: webhooks.list,
      noteWaiting: (destination, dueAt) => queue.noteWaiting(destination, dueAt),
    }),
    version,
    eventStreams,
    queue,
    returnedMail,
    rollup,
    webhooks,
    composer,
    messageParser,
    previews,
    linkVisitor,
    refusedLogins,
    accept: intake.accept,
    acceptBatch: intake.acceptBatch,
    resend: intake.resend,
    resetRequests,
    entry: new SessionEntry({ baseUrl: config.baseUrl, sessions, devices, audit, loginChanges }),
    unsubscribeLinks: unsubscribeLinksOf(core),
    unsubscribeLimit: new RateLimiter(clock, { limit: unsubscribesPerMinute, windowMs: minuteMs }),
  }
}

const unsubscribeLinksOf = ({ db, clock, secrets, erasedAddress }: Core): UnsubscribeLinks =>
  new UnsubscribeLinks({ db, clock, erasedAddress, keys: secrets.generations.map(unsubscribeKeys) })
