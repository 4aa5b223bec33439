import type { AcceptBatch } from '../../mail-in/submission/accept-batch.ts'
import type { Accept } from '../../mail-in/submission/accept.ts'
import type { Resend } from '../../mail-in/submission/resend-failed.ts'
import type { QueueRunner } from '../../mail-out/queue/queue-runner.ts'
import type { ReturnedMailStore } from '../../mail-back/feedback/returned-mail-store.ts'
import type { SmarthostReports } from '../../mail-back/smarthost-report/smarthost-reports.ts'
import type { LogReader } from '../../mail/event/log-reader.ts'
import type { MessageParser } from '../../mail/message/message-parser.ts'
import type { UnsubscribeLinks } from '../../mail/suppression/unsubscribe-links.ts'
import type { ResetRequests } from '../../notify/password-reset/reset-requests.ts'
import type { Webhooks } from '../../notify/webhook/open-webhooks.ts'
import type { WebhookPoster } from '../../notify/webhook/post-webhook.ts'
import type { RateLimiter } from '../../platform/rate-limiter.ts'
import type { SharedRate } from '../../platform/store/shared-rate.ts'
import type { RefusedLogins } from '../../senders/account/refused-logins.ts'
import type { CoreServices } from '../core-services.ts'
import type { EmailComposer } from './email-composer.ts'
import type { EventStreams } from './event-streams.ts'
import type { Previews } from './previews.ts'
import type { SessionEntry } from './session-entry.ts'

/** What the operations work with, in a server. */
export interface ApiServices extends CoreServices {
  /** Of this program. */
  version: string
  composer: EmailComposer
  accept: Accept
  acceptBatch: AcceptBatch
  resend: Resend
  messageParser: MessageParser
  previews: Previews
  /** Asks for links with the guards of webhooks. */
  linkVisitor: Pick<WebhookPoster, 'visit'>
  webhooks: Webhooks
  eventStreams: EventStreams
  queue: Pick<QueueRunner, 'overdueMs'>
  returnedMail: Pick<ReturnedMailStore, 'content'>
  smarthostReports: Pick<SmarthostReports, 'require' | 'take'>
  /** By client network, so that guessing gets slow. */
  failedAuthentications: Pick<SharedRate, 'take'>
  rollup: Pick<LogReader, 'catchUp'>
  refusedLogins: Pick<RefusedLogins, 'note'>
  resetRequests: Pick<ResetRequests, 'take'>
  entry: SessionEntry
  unsubscribeLinks: UnsubscribeLinks
  /** By client network, for valid links; invalid ones cost almost nothing. */
  unsubscribeLimit: RateLimiter
}

/** Those of them that some operations need. */
export type Needs<Name extends keyof ApiServices> = Pick<ApiServices, Name>
