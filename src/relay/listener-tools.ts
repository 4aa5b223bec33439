import { join } from 'node:path'
import { RefusedLogins } from '../account/refused-logins.ts'
import type { Core } from '../core.ts'
import { EmailComposer } from '../http/api/email-composer.ts'
import { Previews } from '../http/previews.ts'
import { RateLimit } from '../http/rate-limit.ts'
import { startMessageParser, type MessageParser } from '../message/message-parser.ts'
import { loadOrMakeCertificate, type Certificate } from '../smtp-server/self-signed-certificate.ts'
import { unsubscribeKeys } from '../suppression/unsubscribe-token.ts'
import { WebhookPoster } from '../webhook/post-webhook.ts'
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
  tls: Certificate
}

export async function startTools(core: Core, stops: Stop[]): Promise<ListenerTools> {
  const { clock, config, log, secrets, templates } = core
  const messageParser = startMessageParser()
  stops.push(() => messageParser.stop())
  const unsubscribe = { keys: unsubscribeKeys(secrets.deriveKey), baseUrl: config.baseUrl }
  const composer = new EmailComposer({ clock, templates: templates.live, messageSizeLimit: config.messageSizeLimit, unsubscribe })
  stops.push(() => composer.stop())
  const rateLimit = new RateLimit(core, { plans: config.plans, defaultPlan: config.accounts.defaultPlan })
  await rateLimit.start()
  stops.push(() => rateLimit.stop())
  const tls = await certificateFor(core)
  if (tls.origin === 'made') {
    log.warn({ fingerprint: tls.fingerprint }, 'made a self-signed certificate: set tls.cert and tls.key to one that clients trust')
  }
  const { allowPrivateAddresses } = config.webhooks
  const linkVisitor = new WebhookPoster(core, { allowPrivateAddresses, timeoutMs: linkTimeoutMs })
  stops.push(() => linkVisitor.close())
  const refusedLogins = new RefusedLogins(log)
  stops.push(() => refusedLogins.tell())
  return { messageParser, composer, previews: new Previews(clock), linkVisitor, rateLimit, refusedLogins, tls }
}

export const certificateFor = ({ config, clock }: Core): Promise<Certificate> =>
  loadOrMakeCertificate({
    certFile: config.tls.cert,
    keyFile: config.tls.key,
    directory: join(config.dataDir, 'tls'),
    hostname: config.hostname,
    now: clock.now(),
  })
