import { SternaError } from '../../platform/errors.ts'
import type { webhookInUse } from '../../api/resource/webhook-resource.ts'
import type { webhookTest } from '../../api/resource/webhook-operations.ts'
import type { Webhook } from '../../notify/webhook/webhook-store.ts'
import { apiCommand, type ApiCommand } from './api-command.ts'
import type { CommandServices } from './command-services.ts'
import { argument, printable, type Command, type CommandInput } from './command.ts'

type ShownWebhook = ReturnType<typeof webhookInUse.answer>

/** A command about a webhook, named by its id. Ids are unique, so no account needs to be named. */
const webhookCommand = <A>(command: Omit<ApiCommand<A, Webhook>, 'args' | 'of'>): Command =>
  apiCommand<A, Webhook>({ ...command, args: { ID: 'id' }, of: webhookIn })

export const webhookCommands: Command[] = [
  apiCommand({
    name: 'webhook add',
    does: 'webhooks.create',
    args: { URL: 'url' },
    options: { endpoint: null },
    sandbox: true,
    doc: 'Adds a webhook and prints it as JSON, including its signing secret.',
  }),
  apiCommand<{ data: ShownWebhook[] }>({
    name: 'webhook list',
    does: 'webhooks.list',
    sandbox: true,
    whole: true,
    doc: 'Lists the webhooks of an account.',
    columns: {
      ID: ({ id }) => id,
      STATUS: ({ status, disabled_reason: reason }) => (reason === null ? status : `${status} (${reason})`),
      EVENTS: ({ events }) => events.join(','),
      URL: ({ url }) => url,
    },
  }),
  webhookCommand<ReturnType<typeof webhookTest.answer>>({
    name: 'webhook test',
    does: 'webhooks.test',
    options: { event: { field: 'type', doc: 'The event to post; default: email.delivered.' } },
    doc: 'Posts a sample event to a webhook at once, without a retry, and says what its receiver answers. Exits with an error unless it takes it.',
    show: ({ delivered, http_status_code: code, duration_ms: took, response, error }, { owner: { url } }) => ({
      stdout:
        code === null
          ? `No answer: ${error}\n`
          : `${url} answered ${code} after ${took} ms${delivered || !response ? '' : `: ${printable(response)}`}.\n`,
      exitCode: delivered ? 0 : 1,
    }),
  }),
  webhookCommand({
    name: 'webhook enable',
    does: 'webhooks.update',
    sets: { status: 'enabled' },
    onlyNamed: true,
    doc: 'Enables a webhook again, such as one that failed for days. Events from the time when it was disabled are not posted.',
    show: (_, { owner: { id, url } }) => ({ stdout: `${id}\n`, stderr: `${url} is enabled.\n` }),
  }),
  webhookCommand({
    name: 'webhook disable',
    does: 'webhooks.update',
    sets: { status: 'disabled' },
    onlyNamed: true,
    doc: 'Stops posting to a webhook, and cancels what waits to be posted.',
    show: (_, { owner: { id, url } }) => ({ stdout: `${id}\n`, stderr: `${url} is disabled.\n` }),
  }),
  webhookCommand({
    name: 'webhook remove',
    does: 'webhooks.delete',
    doc: 'Removes a webhook with its secret, and cancels what waits to be posted.',
    asks: (input) => `Remove the webhook ${argument(input, 0)}?`,
    show: (_, { owner: { id, url } }) => ({ stdout: `${id}\n`, stderr: `${url} is removed.\n` }),
  }),
]

function webhookIn(input: CommandInput, { webhooks }: CommandServices): Webhook {
  const webhook = webhooks.findWebhook(argument(input, 0))
  if (webhook) return webhook
  const message = `There is no webhook "${printable(argument(input, 0))}". "sterna webhook list --account ACCOUNT" lists them.`
  throw new SternaError('not_found', message)
}
