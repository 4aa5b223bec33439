import { onTestFinished } from 'vitest'
import { recordEvent, type Happening } from '../../src/mail/event/event-log.ts'
import { publicEventTypes, type EventType } from '../../src/mail/event/event-type.ts'
import { newId } from '../../src/platform/id.ts'
import { openWebhooks, type WebhookSettings } from '../../src/notify/webhook/open-webhooks.ts'
import type { DeliveryRow } from '../../src/notify/webhook/delivery-history.ts'
import type { WebhookFields } from '../../src/notify/webhook/webhook-object.ts'
import type { Nodes } from '../../src/platform/store/nodes.ts'
import { joining, testCore } from './test-core.ts'
import { testReprieve } from './test-reprieve.ts'

export const minute = 60_000
export const hour = 60 * minute
export const scope = { accountId: 'acc_one', sandbox: false }

const settings: WebhookSettings = {
  allowHttp: true,
  allowPrivateAddresses: true,
  timeoutMs: 15_000,
  retrySchedule: [minute, 5 * minute, 30 * minute, 2 * hour, 24 * hour],
  disableAfterMs: 5 * 24 * hour,
}

/** A database with two accounts, and webhooks over it; `restart()` gives what the next process would have. */
export async function webhookFixture(own: Partial<WebhookSettings> = {}, now?: number) {
  const core = await testCore({ now })
  const { db, clock } = core
  let nodes: Nodes
  const open = async () => {
    nodes = await core.join(joining)
    const webhooks = await openWebhooks({ ...core, nodes, reprieve: testReprieve(db, clock) }, { ...settings, ...own })
    onTestFinished(() => webhooks.stop(0))
    return webhooks
  }
  await db.write(
    ['acc_one', 'acc_two'].map((id) => ({
      sql: `insert into account (id, name, plan, status, created_at) values (:id, :id, 'free', 'active', 0)`,
      params: { id },
    })),
  )
  const webhooks = await open()
  const write = async (
    type: EventType,
    about: { accountId?: string; sandbox?: boolean; messageId?: string; data?: Happening['data'] } = {},
  ) => {
    const subject = {
      accountId: about.accountId ?? 'acc_one',
      messageId: about.messageId ?? newId('em', clock.now()),
      recipientId: 'rcp_1',
      to: 'user@example.com',
      subject: 'Grüße 👋 \u2028',
      sandbox: about.sandbox ?? false,
    }
    const data = about.data ?? { delivered_at: new Date(clock.now()).toISOString() }
    const statement = recordEvent(subject, type, data, clock.now())
    await db.write([statement])
    return String(statement.params?.id)
  }
  return {
    db,
    clock,
    webhooks,
    /** Of the last process. */
    get nodes() {
      return nodes
    },
    restart: open,
    write,
    add: (url: string, fields: Partial<WebhookFields> = {}, of = scope) =>
      webhooks.list.create(of, {
        url,
        events: [...publicEventTypes],
        ...fields,
      }),
    deliveries: (webhookId: string) =>
      db.read<DeliveryRow>('select * from webhook_delivery where webhook_id = :webhookId order by id', { webhookId }),
  }
}
