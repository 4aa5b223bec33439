import type { BaseServices } from '../../platform/base-services.ts'
import type { Secrets } from '../../senders/account/key-file.ts'
import type { Clock } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import type { WebhookEventType } from '../../mail/event/event-type.ts'
import { newId } from '../../platform/id.ts'
import type { Nodes } from '../../platform/store/nodes.ts'
import type { Reprieve } from '../../mail-out/queue/reprieve.ts'
import type { Resolver } from '../../platform/resolver.ts'
import { DeliveryHistory } from './delivery-history.ts'
import { WebhookPoster, type PosterSettings, type PostResult } from './post-webhook.ts'
import { isServiceShape } from './payload-kind.ts'
import { shapedBody } from './shape/shaped-body.ts'
import { extendedData, sampleData, sampleEvent, sampleExtension, webhookBody } from './webhook-body.ts'
import { WebhookList } from './webhook-list.ts'
import { webhookRequest } from './webhook-request.ts'
import { WebhookRunner, type RunnerSettings } from './webhook-runner.ts'
import type { Webhook } from './webhook-store.ts'

interface WebhookServices extends Pick<BaseServices, 'db' | 'clock' | 'changes' | 'log' | 'metrics'> {
  nodes: Pick<Nodes, 'self' | 'deadline' | 'parts' | 'freeBuried' | 'duty'>
  resolver: Resolver
  secrets: Pick<Secrets, 'seal' | 'open'>
  reprieve: Pick<Reprieve, 'waitMs' | 'onOutage'>
}

export interface WebhookSettings extends PosterSettings, RunnerSettings {
  allowHttp: boolean
}

/** All webhook services together. */
export interface Webhooks {
  list: WebhookList
  history: DeliveryHistory
  /**
   * Posts a sample to the webhook at once, whatever its status. Records nothing and does not retry.
   * @throws SternaError `validation_error` if the webhook's shape has no such event
   */
  sendSample(webhook: Webhook, type: WebhookEventType): Promise<PostResult>
  /** Continues what the last process left, and from then on posts what is due. */
  start(): Promise<void>
  /** Call it when the clock was set back. */
  clockSetBack(): void
  /** Waits up to `graceMs` for what is in hand. The rest is posted after the next start. */
  stop(graceMs: number): Promise<void>
}

/** Loads the webhooks. They can be read and changed at once; posting begins with `start()`. */
export async function openWebhooks(services: WebhookServices, settings: WebhookSettings): Promise<Webhooks> {
  const { db, nodes, changes, clock, log, metrics, reprieve } = services
  const poster = new WebhookPoster(services, settings)
  const list: WebhookList = new WebhookList({ ...services, onEnabled: () => runner.webhookEnabled() }, settings)
  const runner: WebhookRunner = new WebhookRunner({ db, nodes, clock, log, metrics, list, poster, reprieve }, settings)
  await list.load()
  const load = (): Promise<void> => runner.lookForDue()
  changes.on('due_webhook', { load, reload: async (webhookId) => runner.wake(webhookId) })
  changes.on('enabled_webhook', { load, reload: async () => runner.webhookEnabled() })
  return {
    list,
    history: new DeliveryHistory({ db, clock, wake: (webhookId) => runner.wake(webhookId) }),
    sendSample: (webhook, type) => sendSample(webhook, type, { poster, clock }),
    start: () => runner.start(),
    clockSetBack: () => runner.clockSetBack(),
    async stop(graceMs) {
      await runner.stop(graceMs)
      await poster.close()
    },
  }
}

async function sendSample(
  webhook: Webhook,
  type: WebhookEventType,
  { poster, clock }: { poster: WebhookPoster; clock: Clock },
): Promise<PostResult> {
  const at = clock.now()
  const id = newId('evt', at)
  const eventId = id.replace('evt_', 'evt_test_')
  const sample = sampleData(type, newId('em', at), at)
  const { payload } = webhook
  const data = payload === 'extended' ? extendedData(sample, sampleExtension) : sample
  const text = isServiceShape(payload)
    ? shapedBody(payload, sampleEvent(type, id, sample, at))
    : webhookBody({ id: eventId, type, sandbox: webhook.sandbox, createdAt: at, data })
  if (text === null)
    throw new SternaError(
      'validation_error',
      `A webhook with the payload "${payload}" gets no ${type}, because that service has no such event.`,
    )
  const request = await webhookRequest(webhook, { eventId, eventType: type, deliveryId: newId('whd', at), number: 1, text, at })
  return poster.post({ ...request, headers: { ...request.headers, 'x-service-test': 'true' } })
}
