import { SternaError } from '../../platform/errors.ts'
import { webhookTestObject } from '../../api/http/api/webhook-operations.ts'
import { webhookResource, webhookWithSecret } from '../../api/http/api/webhook-resource.ts'
import { webhookEventTypes } from '../../mail/event/event-type.ts'
import { subscribedEvents } from '../../notify/webhook/event-subscription.ts'
import { payloadKinds } from '../../notify/webhook/payload-kind.ts'
import type { Webhook } from '../../notify/webhook/webhook-store.ts'
import { requireServing, type CommandServices } from './command-services.ts'
import {
  accountOption as account,
  argument,
  deletedObject,
  flagOption,
  listObject,
  printable,
  requiredOption,
  table,
  textOption,
  type Command,
  type CommandInput,
  type CommandOutput,
} from './command.ts'

const sandbox = { type: 'boolean', doc: 'For the sandbox: it gets only events of mail sent with sandbox keys.' } as const

export const webhookCommands: Command[] = [
  {
    name: 'webhook add',
    args: ['URL'],
    options: {
      account,
      events: {
        type: 'string',
        value: 'EVENTS',
        doc: 'Comma-separated events, such as email.delivered,email.bounced; default: all but email.deferred.',
      },
      payload: { type: 'string', value: 'PAYLOAD', doc: 'What is posted; default: standard.', choices: payloadKinds },
      description: { type: 'string', value: 'TEXT', doc: 'What the webhook is for.' },
      sandbox,
    },
    doc: 'Adds a webhook and prints it as JSON, including its signing secret.',
    async run(input, { accounts, webhooks }) {
      const { id: accountId } = accounts.getAccount(requiredOption(input, 'account'))
      const names =
        textOption(input, 'events')
          ?.split(',')
          .map((name) => name.trim()) ?? null
      const webhook = await webhooks.create(
        { accountId, sandbox: flagOption(input, 'sandbox') },
        {
          url: argument(input, 0),
          events: subscribedEvents(names),
          description: textOption(input, 'description') ?? null,
          payload: payloadKinds.find((kind) => kind === textOption(input, 'payload')) ?? 'standard',
          includeBots: false,
          basicAuth: null,
          status: 'enabled',
        },
      )
      const json = webhookWithSecret.answer(webhook)
      return { stdout: `${JSON.stringify(json, null, 2)}\n`, json, objectId: webhook.id }
    },
  },
  {
    name: 'webhook list',
    reads: true,
    args: [],
    options: { account, sandbox },
    doc: 'Lists the webhooks of an account.',
    async run(input, { accounts, webhooks }) {
      const { id: accountId } = accounts.getAccount(requiredOption(input, 'account'))
      const scope = { accountId, sandbox: flagOption(input, 'sandbox') }
      // An account has fewer webhooks than fit on a page.
      const all = await webhooks.page(scope, { limit: 100, after: null, before: null })
      const rows = all.map(({ id, status, disabledReason, events, url }) => [
        id,
        disabledReason === null ? status : `${status} (${disabledReason})`,
        events.join(','),
        url,
      ])
      return { stdout: table([['ID', 'STATUS', 'EVENTS', 'URL'], ...rows]), json: listObject(all.map(webhookResource.answer)) }
    },
  },
  {
    name: 'webhook test',
    args: ['ID'],
    options: { event: { type: 'string', value: 'EVENT', doc: 'The event to post; default: email.delivered.', choices: webhookEventTypes } },
    doc: 'Posts a sample event to a webhook at once, without a retry, and says what its receiver answers. Exits with an error unless it takes it.',
    async run(input, services) {
      const { sendSample } = requireServing(services)
      const type = webhookEventTypes.find((each) => each === textOption(input, 'event')) ?? 'email.delivered'
      const webhook = webhookIn(input, services)
      const json = webhookTestObject(await sendSample(webhook, type))
      const { delivered, http_status_code: code, duration_ms: took, response, error } = json
      const said = delivered || !response ? '' : `: ${printable(response)}`
      const answer = code === null ? `No answer: ${error}` : `${webhook.url} answered ${code} after ${took} ms${said}.`
      return { stdout: `${answer}\n`, json, exitCode: delivered ? 0 : 1 }
    },
  },
  {
    name: 'webhook enable',
    args: ['ID'],
    options: {},
    doc: 'Enables a webhook again, such as one that failed for days. Events from the time when it was disabled are not posted.',
    run: (input, services) => setStatus(input, services, 'enabled'),
  },
  {
    name: 'webhook disable',
    args: ['ID'],
    options: {},
    doc: 'Stops posting to a webhook, and cancels what waits to be posted.',
    run: (input, services) => setStatus(input, services, 'disabled'),
  },
  {
    name: 'webhook remove',
    args: ['ID'],
    options: {},
    doc: 'Removes a webhook with its secret, and cancels what waits to be posted.',
    asks: (input) => `Remove the webhook ${argument(input, 0)}?`,
    async run(input, services) {
      const webhook = webhookIn(input, services)
      await services.webhooks.remove(webhook, webhook.id)
      return { stdout: `${webhook.id}\n`, json: deletedObject('webhook', webhook.id), stderr: `${webhook.url} is removed.\n` }
    },
  },
]

/** Ids are unique, so no account needs to be named. */
function webhookIn(input: CommandInput, { webhooks }: CommandServices): Webhook {
  const webhook = webhooks.findWebhook(argument(input, 0))
  if (webhook) return webhook
  const message = `There is no webhook "${printable(argument(input, 0))}". "sterna webhook list --account ACCOUNT" lists them.`
  throw new SternaError('not_found', message)
}

async function setStatus(input: CommandInput, services: CommandServices, status: Webhook['status']): Promise<CommandOutput> {
  const webhook = webhookIn(input, services)
  const changed = await services.webhooks.change(webhook, webhook.id, { status })
  return { stdout: `${webhook.id}\n`, json: webhookResource.answer(changed), stderr: `${webhook.url} is ${status}.\n` }
}
