import type { Core } from './core.ts'
import { readProviderStops } from '../mail-out/queue/provider-stop-list.ts'
import { deliveryOptions } from '../mail-out/delivery/delivery-options.ts'
import type { AccountRemovalServices } from '../upkeep/account-removal.ts'
import { ownNames, type RouteServices } from '../mail-out/delivery/route.ts'
import type { Address } from '../platform/smtp/address.ts'
import { Examinations } from '../upkeep/doctor/examinations.ts'
import { examination, examineNodes } from '../upkeep/doctor/run-doctor.ts'
import type { RoutedMail } from '../mail-out/smarthost/choose-route.ts'
import { explainRoute } from '../upkeep/doctor/explain-route.ts'
import { explainAddress } from '../upkeep/doctor/explain-address.ts'
import { ownAddresses, ownRecords } from '../upkeep/doctor/own-addresses.ts'
import { listNodes } from '../platform/store/node-rows.ts'
import type { Erasures } from '../upkeep/erasure/erasures.ts'
import { EventFeed } from '../mail/event/event-feed.ts'
import { ReturnedMailList } from '../mail-back/feedback/returned-mail-list.ts'
import { MessageReader } from '../mail/message/message-reader.ts'
import { contentKeptMs } from '../mail/message/retention.ts'
import type { QueueAdmin } from '../mail-out/queue/queue-admin.ts'
import type { Lane } from '../mail-out/queue/queue-store.ts'
import { WaitingMail } from '../mail-out/queue/waiting-mail.ts'
import { SuppressionEntries } from '../mail/suppression/suppression-entries.ts'
import type { WebhookList } from '../notify/webhook/webhook-list.ts'
import { OutgoingRequests } from './operation/outgoing-requests.ts'

/** What a server and a command without one each open in their own way. */
interface OwnServices {
  webhookList: WebhookList
  queueAdmin: QueueAdmin
  erasures: Erasures
  /** Called after mail became due earlier. */
  noteWaiting(lane: Lane, dueAt: number): void
}

/** The services of those operations that need no server. */
export function coreServices(services: Core & OwnServices) {
  const { config, clock, db, accounts, people, webhookList } = services
  return {
    ...services,
    eventFeed: new EventFeed(db),
    baseUrl: config.baseUrl,
    /** Without a final slash; null where there is no dashboard. */
    dashboardPath: config.dashboard.enabled ? new URL(config.baseUrl).pathname.replace(/\/$/, '') : null,
    isSuspended: (accountId: string) => accounts.isSuspended(accountId),
    outgoingRequests: new OutgoingRequests(),
    messages: new MessageReader(db),
    /** How long content is kept after the end of an email, ms. */
    contentKeptMs: () => contentKeptMs(config),
    waitingMail: new WaitingMail(services),
    users: people.users,
    sessions: people.sessions,
    login: people.login,
    plans: { byName: config.plans, standard: config.accounts.defaultPlan },
    removal: { ...services, webhooks: webhookList } as AccountRemovalServices,
    returnedMailList: new ReturnedMailList(db),
    suppressions: new SuppressionEntries(services),
    examinations: new Examinations(
      clock,
      () => examination(services),
      () => examineNodes(services),
    ),
    nodeList: () => listNodes(services),
    providerStops: () => readProviderStops(services),
    /** Those that the mail of all nodes leaves from; none if they are not known. */
    ownAddresses: () => ownAddresses(services),
    /** The records to publish for this server. */
    ownRecords: () => ownRecords(services),
    explain: (address: Address) =>
      explainAddress(address, {
        ...services,
        route: routeOf(services),
        recipientTls: config.delivery.recipientTls,
        sources: config.delivery.sourceAddresses,
        stsPolicies: config.delivery.mtaSts ? services.stsPolicies : null,
      }),
    explainRoute: (mail: RoutedMail) => explainRoute(mail, { ...services, route: routeOf(services) }),
  }
}

export type CoreServices = ReturnType<typeof coreServices>

/** The same routes that delivery uses. */
function routeOf({ config, resolver }: Core): RouteServices {
  const { port, smarthost, ...options } = deliveryOptions(config)
  return { resolver, guard: options, ownNames: ownNames(options), port, smarthost, random: Math.random }
}
