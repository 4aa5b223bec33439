import type { Core } from '../../api/core.ts'
import { deliveryOptions } from '../../mail-out/delivery/delivery-options.ts'
import { Examinations } from '../../upkeep/doctor/examinations.ts'
import { examination } from '../../upkeep/doctor/examination.ts'
import { explainAddress, type ExplainServices } from '../../upkeep/doctor/explain-address.ts'
import { ownAddresses, ownRecords } from '../../upkeep/doctor/own-addresses.ts'
import { ReturnedMailList } from '../../mail-back/feedback/returned-mail-list.ts'
import type { ApiServices } from '../../api/http/api/operations.ts'
import { OutgoingRequests } from '../../api/http/outgoing-requests.ts'
import { SessionEntry } from '../../api/operation/session-entry.ts'
import { MessageReader } from '../../mail/message/message-reader.ts'
import { contentKeptMs } from '../../mail/message/retention.ts'
import { minuteMs, RateLimiter } from '../../platform/rate-limiter.ts'
import { WaitingMail } from '../../mail-out/queue/waiting-mail.ts'
import { SuppressionEntries } from '../../mail/suppression/suppression-entries.ts'
import { UnsubscribeLinks } from '../../mail/suppression/unsubscribe-links.ts'
import { unsubscribeKeys } from '../../mail/suppression/unsubscribe-token.ts'
import type { ListenerTools } from './listener-tools.ts'
import type { Services } from './services.ts'

/** Mail providers send many users' requests from a few addresses. */
const unsubscribesPerMinute = 300

/** The services of the endpoints. Those of the core come last, so that TypeScript reports a name used twice. */
export function apiServicesOf(
  services: Services,
  { composer, messageParser, previews, linkVisitor, refusedLogins }: ListenerTools,
  { eventFeed, emailChanges, eventStreams }: Pick<ApiServices, 'eventFeed' | 'emailChanges' | 'eventStreams'>,
): ApiServices {
  const { core, queue, queueAdmin, erasures, returnedMail, rollup, webhooks, intake, version } = services
  const { config, clock, db, accounts } = core
  const explainServices = explainServicesOf(services)
  return {
    version,
    eventFeed,
    emailChanges,
    eventStreams,
    queue,
    queueAdmin,
    erasures,
    returnedMail,
    rollup,
    webhooks,
    composer,
    messageParser,
    previews,
    linkVisitor,
    refusedLogins,
    baseUrl: config.baseUrl,
    dashboardPath: config.dashboard.enabled ? new URL(config.baseUrl).pathname.replace(/\/$/, '') : null,
    accept: intake.accept,
    acceptBatch: intake.acceptBatch,
    resend: intake.resend,
    isSuspended: (accountId) => accounts.isSuspended(accountId),
    outgoingRequests: new OutgoingRequests(),
    messages: new MessageReader(db),
    contentKeptMs: () => contentKeptMs(config),
    waitingMail: new WaitingMail({ db, clock, noteWaiting: (destination, dueAt) => queue.noteWaiting(destination, dueAt) }),
    ...loginServicesOf(services),
    plans: { byName: config.plans, standard: config.accounts.defaultPlan },
    removal: { webhooks: webhooks.list, ...core },
    returnedMailList: new ReturnedMailList(db),
    suppressions: new SuppressionEntries(core),
    unsubscribeLinks: unsubscribeLinksOf(core),
    unsubscribeLimit: new RateLimiter(clock, { limit: unsubscribesPerMinute, windowMs: minuteMs }),
    examinations: new Examinations(clock, () => examination(core)),
    ownAddresses: () => ownAddresses(core),
    ownRecords: () => ownRecords(core),
    explain: (address) => explainAddress(address, explainServices),
    ...core,
  }
}

/** How people log in. */
function loginServicesOf({ core, resetRequests, loginChanges }: Services) {
  const { config, audit, people } = core
  const { users, sessions, login, devices } = people
  return {
    users,
    sessions,
    login,
    resetRequests,
    entry: new SessionEntry({ baseUrl: config.baseUrl, sessions, devices, audit, loginChanges }),
  }
}

const unsubscribeLinksOf = ({ db, clock, secrets, erasedAddress }: Core): UnsubscribeLinks =>
  new UnsubscribeLinks({ db, clock, erasedAddress, keys: secrets.generations.map(unsubscribeKeys) })

/** The same routes that delivery uses. */
function explainServicesOf({ core, queueAdmin }: Services): ExplainServices {
  const { db, clock, config, resolver, erasedAddress } = core
  const { hostname, port, smarthost, ...guard } = deliveryOptions(config)
  const route = { resolver, guard, ownNames: [hostname.toLowerCase()], port, smarthost, random: Math.random }
  return { db, clock, queueAdmin, erasedAddress, route }
}
