import { RefusedLogins } from '../../senders/account/refused-logins.ts'
import type { Core } from '../../api/core.ts'
import { EmailComposer } from '../../api/resource/email-composer.ts'
import { Previews } from '../../api/resource/previews.ts'
import { RateLimit } from '../../api/http/rate-limit.ts'
import { startMessageParser, type MessageParser } from '../../mail/message/message-parser.ts'
import { unsubscribeKeys } from '../../mail/suppression/unsubscribe-token.ts'
import { WebhookPoster } from '../../notify/webhook/post-webhook.ts'
import type { Stop } from './stop.ts'

/** How long a link in an email may take to answer. */
const linkTimeoutMs = 5_000

/** Services that only the listeners need. */
export interface ListenerTools {
  messageParser: MessageParser
  composer: EmailComposer
  previews: Previews
  linkVisitor: WebhookPoster
  rateLimit: RateLimit
  refusedLogins: RefusedLogins
}

export async function startTools(core: Core, stops: Stop[]): Promise<ListenerTools> {
  const { clock, config, log, secrets, templates } = core
  const messageParser = startMessageParser()
  stops.push(() => messageParser.stop())
  const unsubscribe = { keys: unsubscribeKeys(secrets.deriveKey), baseUrl: config.baseUrl }
  const composer = new EmailComposer({ clock, log, templates: templates.live, messageSizeLimit: config.messageSizeLimit, unsubscribe })
  stops.push(() => composer.stop())
  stops.push(() => core.largeWorker.stop())
  const rateLimit = new RateLimit(core, { plans: config.plans, defaultPlan: config.accounts.defaultPlan })
  await rateLimit.start()
  stops.push(() => rateLimit.stop())
  const { allowPrivateAddresses } = config.webhooks
  const linkVisitor = new WebhookPoster(core, { allowPrivateAddresses, timeoutMs: linkTimeoutMs })
  stops.push(() => linkVisitor.close())
  const refusedLogins = new RefusedLogins(log)
  stops.push(() => refusedLogins.tell())
  return { messageParser, composer, previews: new Previews(clock), linkVisitor, rateLimit, refusedLogins }
}
