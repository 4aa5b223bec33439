import { webhookResource, webhookWithSecret } from '../http/api/webhook-resource.ts'
import { subscribedEvents } from '../webhook/event-subscription.ts'
import { payloadKinds } from '../webhook/payload-kind.ts'
import { accountOption as account, argument, flagOption, listObject, requiredOption, table, textOption, type Command } from './command.ts'

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
]
