import { SternaError } from '../../platform/errors.ts'
import { EventFeed, type FeedRow } from '../../mail/event/event-feed.ts'
import type { EventFilter } from '../../mail/event/event-search.ts'
import { publicEventTypes } from '../../mail/event/event-type.ts'
import type { emailItem } from '../../api/resource/email-resource.ts'
import { addressParameter, textParameter, timeParameter } from '../../api/operation/query.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { MessageReader } from '../../mail/message/message-reader.ts'
import { webhookBody } from '../../notify/webhook/webhook-body.ts'
import { firstPage } from '../../platform/store/page-clause.ts'
import { apiCommand } from './api-command.ts'
import { parameters, scopeOf, scopeOptions } from './command-scope.ts'
import { requireServing } from './command-services.ts'
import { argument, printable, textOption, type Command } from './command.ts'
import { followEvents } from './follow-events.ts'
import { messagePage, readEmail } from './message-page.ts'

export const messageCommands: Command[] = [
  apiCommand<{ data: ReturnType<typeof emailItem.answer>[] }>({
    name: 'message list',
    does: 'emails.list',
    sandbox: true,
    doc: 'Lists the emails of an account, the newest first, a page at a time.',
    columns: {
      ID: ({ id }) => id,
      ACCEPTED: ({ created_at: at }) => at,
      STATUS: ({ status }) => status,
      FROM: ({ from }) => shortened(from),
      TO: ({ to }) => shortened(to.join(', ')),
      SUBJECT: ({ subject }) => shortened(subject),
    },
  }),
  {
    name: 'message show',
    reads: true,
    args: ['ID'],
    options: {},
    doc: 'Shows an email (em_…): what became of it for each recipient, and what its last attempts mean in plain words.',
    async run(input, services) {
      const messages = new MessageReader(services.db)
      const row = await messages.findAnywhere(argument(input, 0))
      if (!row) throw new SternaError('not_found', `There is no email "${printable(argument(input, 0))}", or it is no longer kept.`)
      const json = await readEmail(row, services)
      const attempts = await messages.attempts(row.id, firstPage)
      return { stdout: messagePage(json, row, attempts), json }
    },
  },
  {
    name: 'message tail',
    reads: true,
    args: [],
    options: {
      ...scopeOptions,
      type: { type: 'string', value: 'EVENT', doc: 'Only events of this type.', choices: publicEventTypes },
      to: { type: 'string', value: 'EMAIL', doc: 'Only of this recipient.' },
      'email-id': { type: 'string', value: 'ID', doc: 'Only of this email.' },
      since: { type: 'string', value: 'TIME', doc: 'Begins with the events since this time; default: now.' },
    },
    doc: 'Follows what happens to the mail of an account, an event a line, until Ctrl-C. With --json each line is what webhooks receive.',
    async run(input, services, client) {
      const follower = requireServing(services)
      const scope = scopeOf(input, services)
      const { since: from, ...asked } = parameters(input, { to: addressParameter, email_id: textParameter, since: timeParameter })
      const type = publicEventTypes.find((each) => each === textOption(input, 'type')) ?? null
      const filter: EventFilter = { type, messageId: asked.email_id, to: asked.to, since: from, until: null }
      const feed = new EventFeed(services.db)
      const after = from === null ? await feed.end() : 0
      const shown = input.isJson ? jsonLine : eventLine
      const take = (rows: FeedRow[]): Promise<void> => client.tell({ stdout: rows.map(shown).join('') })
      await followEvents({ follower, scope, signal: client.signal }, { feed, filter, after }, take)
      return { stdout: '', json: undefined }
    },
  },
]

/** Characters of a cell. */
const widest = 60

const shortened = (text: string): string => (text.length <= widest ? text : `${text.slice(0, widest - 1)}…`)

const jsonLine = ({ id, type, sandbox, created_at: createdAt, data }: FeedRow): string =>
  `${webhookBody({ id, type, sandbox: sandbox === 1, createdAt, data })}\n`

/** `2027-01-01T00:00:00.000Z  bounced  em_…  ann@example.com  550 5.1.1 No such user` */
function eventLine({ type, created_at: createdAt, data }: FeedRow): string {
  const { email_id: id, to, ...more } = JSON.parse(data) as Record<string, unknown>
  const detail = more['reason'] ?? more['link'] ?? more['feedback_type'] ?? more['method'] ?? more['subject'] ?? ''
  const words = [isoTime(createdAt), type.replace('email.', '').padEnd(12), id, to, more['bot'] === true ? '(machine)' : '', detail]
  return `${printable(words.filter((word) => word !== '').join('  '))}\n`
}
