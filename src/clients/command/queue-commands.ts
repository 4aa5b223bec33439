import { queuedRecipient } from '../../api/resource/queue-operations.ts'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import type { QueueEntry } from '../../mail-out/queue/queue-admin.ts'
import {
  argument,
  flagOption,
  listObject,
  printable,
  shownTime,
  table,
  usageFault,
  type Command,
  type CommandInput,
  type CommandOutput,
} from './command.ts'

const what = 'MESSAGE|RECIPIENT|DOMAIN'

export const queueCommands: Command[] = [
  {
    name: 'queue list',
    reads: true,
    args: [],
    options: {},
    doc: 'Lists the destinations with queued mail: how many recipients wait, how many are held, and the next attempt.',
    async run(_input, { queueAdmin }) {
      const queues = await queueAdmin.list()
      const rows = queues.map(({ destination, recipients, held, next_due_at: dueAt }) => [
        destination,
        String(recipients),
        String(held),
        shownTime(dueAt),
      ])
      const objects = queues.map(({ destination, recipients, held, next_due_at: dueAt }) => ({
        object: 'queue_destination',
        destination,
        waiting: recipients,
        held,
        next_attempt_at: isoTimeOrNull(dueAt),
      }))
      return { stdout: table([['DESTINATION', 'RECIPIENTS', 'HELD', 'NEXT ATTEMPT'], ...rows]), json: listObject(objects) }
    },
  },
  {
    name: 'queue show',
    reads: true,
    args: [what],
    options: {},
    doc: 'Shows the recipients of a message (em_…), one recipient (rcp_…), or the first hundred that wait for a domain.',
    async run(input, { queueAdmin }) {
      const entries = await queueAdmin.show(argument(input, 0))
      return { stdout: entries.map(shown).join('\n'), json: listObject(entries.map(queuedRecipient.answer)) }
    },
  },
  {
    name: 'queue retry',
    args: [what],
    options: {},
    doc: 'Makes waiting mail due at once, except mail that is held or scheduled. If a host is in backoff, one message tries it at once.',
    run: async (input, { queueAdmin }) => counted(input, await queueAdmin.retry(argument(input, 0)), 'due now'),
  },
  {
    name: 'queue hold',
    args: [what],
    options: {},
    doc: 'Holds the mail that waits now until it is released. Mail that is accepted later is not held.',
    run: async (input, { queueAdmin }) => counted(input, await queueAdmin.hold(argument(input, 0)), 'held'),
  },
  {
    name: 'queue release',
    args: [`[${what}]`],
    options: {
      restored: {
        type: 'boolean',
        doc: 'Releases the mail that is held because the database was restored from a backup, or its files copied or moved.',
      },
    },
    doc: 'Lets held mail be tried again.',
    async run(input, { queueAdmin }) {
      requireOne(input)
      return counted(input, await (isRestored(input) ? queueAdmin.releaseRestored() : queueAdmin.release(argument(input, 0))), 'released')
    },
  },
  {
    name: 'queue cancel',
    args: [],
    options: {
      restored: {
        type: 'boolean',
        doc: 'Cancels the mail that is held because the database was restored from a backup, or its files copied or moved.',
      },
    },
    asks: () => 'Cancel all mail that was queued in the backup or the copy, and tell webhooks so?',
    doc: 'Cancels the mail that was queued in a backup or a copy, with an event for each recipient. It takes --restored, and nothing else.',
    async run(input, { queueAdmin }) {
      if (!isRestored(input)) throw usageFault('--restored is missing.')
      return counted(input, await queueAdmin.cancelRestored(), 'canceled')
    },
  },
]

const isRestored = (input: CommandInput): boolean => flagOption(input, 'restored')

function requireOne(input: CommandInput): void {
  if (isRestored(input) === input.args.length > 0) throw usageFault(`Name either ${what} or --restored.`)
}

const counted = (input: CommandInput, recipients: number, done: string): CommandOutput => ({
  stdout: '',
  json: { object: 'queue_change', what: isRestored(input) ? 'restored' : argument(input, 0), recipients },
  stderr: `${recipients} ${recipients === 1 ? 'recipient' : 'recipients'} ${done}.\n`,
})

function shown(entry: QueueEntry): string {
  const now = entry.owner !== null ? ', being tried' : entry.held > 0 ? ', held' : ''
  return [
    `${entry.id}  ${printable(entry.forward_path)}`,
    `  message      ${entry.message_id} of ${entry.account_id}`,
    `  state        ${entry.state}${now}`,
    `  attempts     ${entry.attempts}`,
    `  next attempt ${shownTime(entry.due_at)}, given up ${shownTime(entry.expires_at)}`,
    `  last reply   ${entry.last_response === null ? '-' : printable(entry.last_response)}`,
    '',
  ].join('\n')
}
