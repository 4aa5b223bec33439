import { RefusedLogins } from '../../senders/account/refused-logins.ts'
import type { Core } from '../../api/core.ts'
import { EmailComposer } from '../../api/resource/email-composer.ts'
import { Previews } from '../../api/resource/previews.ts'
import { RateLimit } from '../../api/http/rate-limit.ts'
import { minuteMs } from '../../platform/rate-limiter.ts'
import { SharedRate } from '../../platform/store/shared-rate.ts'
import { startMessageParser } from '../../mail/message/message-parser.ts'
import { unsubscribeKeys } from '../../mail/suppression/unsubscribe-token.ts'
import { WebhookPoster } from '../../notify/webhook/post-webhook.ts'
import { start, type Stop } from './stop.ts'
import { derivedFrom } from '../../platform/key-generations.ts'

/** How long a link in an email may take to answer. */
const linkTimeoutMs = 5_000

/** Services that only the listeners need. */
export type ListenerTools = Awaited<ReturnType<typeof startTools>>

export async function startTools(core: Core, stops: Stop[]) {
  const { config, log, secrets, templates, largeWorker } = core
  const { baseUrl, messageSizeLimit, plans, accounts, webhooks, http, submission } = config
  const messageParser = await start(startMessageParser(), stops)
  const keys = derivedFrom(secrets, unsubscribeKeys)
  const unsubscribe = () => ({ keys: keys()[0], baseUrl })
  const composer = await start(new EmailComposer({ ...core, templates: templates.live, messageSizeLimit, unsubscribe }), stops)
  stops.push(() => largeWorker.stop())
  const rateLimit = await start(new RateLimit(core, { plans, defaultPlan: accounts.defaultPlan }), stops)
  const perMinute = (name: string, limit: number): Promise<SharedRate> =>
    start(new SharedRate(core, { name, limit, windowMs: minuteMs }), stops)
  // By client network, so that guessing gets slow and the log stays readable.
  const failedAuthentications = await perMinute('failed authentications', http.failedAuthenticationsPerMinute)
  const messageRate = await perMinute('smtp messages', submission.messagesPerMinute)
  const { allowPrivateAddresses } = webhooks
  const linkVisitor = new WebhookPoster(core, { allowPrivateAddresses, timeoutMs: linkTimeoutMs })
  const refusedLogins = new RefusedLogins(log)
  stops.push(
    () => linkVisitor.close(),
    () => refusedLogins.tell(),
  )
  const limits = { rateLimit, failedAuthentications, messageRate }
  return { messageParser, composer, previews: new Previews(core), linkVisitor, refusedLogins, ...limits }
}
