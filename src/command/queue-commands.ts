import type { QueueEntry } from '../queue/queue-admin.ts'
import { argument, printable, shownTime, table, type Command } from './command.ts'

const what = 'MESSAGE|RECIPIENT|DOMAIN'

export const queueCommands: Command[] = [
  {
    name: 'queue list',
    reads: true,
    args: [],
    options: {},
    doc: 'Lists the destinations with queued mail: how many recipients wait, how many are held, and the next attempt.',
    async run(_input, { queueAdmin }) {
      const rows = (await queueAdmin.list()).map(({ destination, recipients, held, next_due_at: dueAt }) => [
        destination,
        String(recipients),
        String(held),
        shownTime(dueAt),
      ])
      return { stdout: table([['DESTINATION', 'RECIPIENTS', 'HELD', 'NEXT ATTEMPT'], ...rows]) }
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
      return { stdout: entries.map(shown).join('\n') }
    },
  },
  {
    name: 'queue retry',
    args: [what],
    options: {},
    doc: 'Makes waiting mail due at once, except mail that is held or scheduled. If a host rests, one message tries it at once.',
    run: async (input, { queueAdmin }) => counted(await queueAdmin.retry(argument(input, 0)), 'due now'),
  },
  {
    name: 'queue hold',
    args: [what],
    options: {},
    doc: 'Holds the mail that waits now until it is released. Mail that is accepted later is not held.',
    run: async (input, { queueAdmin }) => counted(await queueAdmin.hold(argument(input, 0)), 'held'),
  },
  {
    name: 'queue release',
    args: [what],
    options: {},
    doc: 'Lets held mail be tried again.',
    run: async (input, { queueAdmin }) => counted(await queueAdmin.release(argument(input, 0)), 'released'),
  },
]

const counted = (recipients: number, done: string) => ({
  stdout: '',
  stderr: `${recipients} ${recipients === 1 ? 'recipient' : 'recipients'} ${done}.\n`,
})

function shown(entry: QueueEntry): string {
  const now = entry.owner !== null ? ', being tried' : entry.held === 1 ? ', held' : ''
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
