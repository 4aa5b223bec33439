import type { Secrets } from '../account/key-file.ts'
import type { Clock } from '../clock.ts'
import type { PublicEventType } from '../event/event-type.ts'
import { newId } from '../id.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Resolver } from '../resolver.ts'
import type { Database } from '../store/database.ts'
import { DeliveryHistory } from './delivery-history.ts'
import { WebhookPoster, type PosterSettings, type PostResult } from './post-webhook.ts'
import { webhookHeaders } from './sign-webhook.ts'
import { extendedData, sampleData, sampleExtension, webhookBody } from './webhook-body.ts'
import { WebhookList } from './webhook-list.ts'
import { openPreviousSecret, WebhookRunner, type RunnerSettings } from './webhook-runner.ts'
import type { Webhook } from './webhook-store.ts'

interface WebhookServices {
  db: Database
  clock: Clock
  log: Log
  metrics: Metrics
  resolver: Resolver
  secrets: Pick<Secrets, 'seal' | 'open'>
}

export interface WebhookSettings extends PosterSettings, RunnerSettings {
  allowHttp: boolean
}

/** Everything about webhooks, put together. */
export interface Webhooks {
  list: WebhookList
  history: DeliveryHistory
  /** Posts a sample to the webhook at once, whatever its status; nothing is written down and nothing tried again. */
  sendSample(webhook: Webhook, type: PublicEventType): Promise<PostResult>
  /** Takes up what the last process left, and from then on posts what is due. */
  start(): Promise<void>
  /** Waits at most so long for what is in hand; the rest is posted after the next start. */
  stop(graceMs: number): Promise<void>
}

/** Loads the webhooks. They can be changed and read at once; nothing is posted before `start()`. */
export async function openWebhooks(services: WebhookServices, settings: WebhookSettings): Promise<Webhooks> {
  const { db, clock, log, metrics } = services
  const poster = new WebhookPoster(services, settings)
  const list: WebhookList = new WebhookList({ ...services, onEnabled: () => runner.webhookEnabled() }, settings)
  const runner: WebhookRunner = new WebhookRunner({ db, clock, log, metrics, list, poster }, settings)
  await list.load()
  return {
    list,
    history: new DeliveryHistory({ db, clock, wake: (webhookId) => runner.wake(webhookId) }),
    sendSample: (webhook, type) => sendSample(webhook, type, { poster, clock }),
    start: () => runner.start(),
    async stop(graceMs) {
      await runner.stop(graceMs)
      await poster.close()
    },
  }
}

function sendSample(webhook: Webhook, type: PublicEventType, services: { poster: WebhookPoster; clock: Clock }): Promise<PostResult> {
  const at = services.clock.now()
  const eventId = newId('evt', at).replace('evt_', 'evt_test_')
  const sample = sampleData(type, newId('em', at), at)
  const data = webhook.payload === 'extended' ? extendedData(sample, sampleExtension) : sample
  const body = Buffer.from(webhookBody({ id: eventId, type, createdAt: at, data }))
  const headers = webhookHeaders({
    eventId,
    eventType: type,
    deliveryId: newId('whd', at),
    number: 1,
    body,
    secret: webhook.secret,
    previousSecret: openPreviousSecret(webhook, at),
    at,
  })
  return services.poster.post({ url: webhook.url, headers: { ...headers, 'x-service-test': 'true' }, body })
}
