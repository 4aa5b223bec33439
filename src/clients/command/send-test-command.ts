import type { AccountScope } from '../../senders/account/account-scope.ts'
import { duration } from '../../platform/config/setting-types.ts'
import { messageOf, SternaError } from '../../platform/errors.ts'
import { attemptResource } from '../../api/resource/email-resource.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { MessageReader, type AttemptRow, type RecipientRow } from '../../mail/message/message-reader.ts'
import { firstPage } from '../../platform/store/page-clause.ts'
import { requireServing, type CommandServices } from './command-services.ts'
import { scopeOf, scopeOptions } from './command-scope.ts'
import { argument, printable, shownTime, textOption, usageFault, type Command, type CommandInput } from './command.ts'
import { lookAtNews } from './follow-events.ts'
import { attemptLines, readEmail } from './message-page.ts'

const standardWait = '10m'

export const sendTestCommands: Command[] = [
  {
    name: 'send-test',
    args: ['EMAIL'],
    options: {
      ...scopeOptions,
      from: { type: 'string', value: 'EMAIL', doc: 'The address in From; default: test@ the first verified domain of the account.' },
      wait: { type: 'string', value: 'DURATION', doc: `How long to follow it, such as 90s; default: ${standardWait}.` },
    },
    doc:
      'Sends a test mail as an app would, follows it to its outcome, and says what happened in plain words. Exits with an error ' +
      "unless the recipient's server takes it.",
    async run(input, services, client) {
      const follower = requireServing(services)
      const waitMs = waitIn(input)
      const scope = scopeOf(input, services)
      const say = (text: string): Promise<void> => (input.isJson ? Promise.resolve() : client.tell({ stdout: `${text}\n` }))
      const { id, createdAt } = await sendTest(input, services, scope)
      await say(`Accepted as ${id}.`)
      const messages = new MessageReader(services.db)
      let test: TestMail = { recipient: undefined, attempts: [] }
      const timeUp = new AbortController()
      const cancelTimer = services.clock.at(services.clock.now() + waitMs, () => timeUp.abort())
      try {
        const signal = AbortSignal.any([client.signal, timeUp.signal])
        await lookAtNews({ follower, scope, signal }, async () => {
          const told = test.attempts.length
          test = await readTest(messages, id)
          for (const attempt of test.attempts.slice(told)) await say(attemptText(attempt))
          return isOver(test)
        })
      } finally {
        cancelTimer()
      }
      const { recipient, attempts } = test
      const row = await messages.findAnywhere(id)
      const email = row && (await readEmail(row, services))
      return {
        stdout: `${summary(test, { id, createdAt })}\n`,
        json: {
          object: 'test',
          outcome: isOver(test) ? recipient?.state : 'waiting',
          email,
          attempts: attempts.map(attemptResource.answer),
        },
        objectId: id,
        exitCode: recipient?.state === 'delivered' ? 0 : 1,
      }
    },
  },
]

/** States after which nothing more happens to a test. */
const finalStates = ['delivered', 'bounced', 'complained', 'suppressed', 'failed', 'canceled']

/** What is known of the test so far. */
interface TestMail {
  recipient: RecipientRow | undefined
  /** The oldest first. */
  attempts: AttemptRow[]
}

async function readTest(messages: MessageReader, id: string): Promise<TestMail> {
  const [recipient] = await messages.recipients([id])
  return { recipient, attempts: (await messages.attempts(id, firstPage)).toReversed() }
}

const isOver = ({ recipient }: TestMail): boolean => finalStates.includes(recipient?.state ?? '')

async function sendTest(input: CommandInput, services: CommandServices, scope: AccountScope): Promise<{ id: string; createdAt: number }> {
  const { hostname } = services.config
  const createdAt = services.clock.now()
  const text = `This is a test mail from ${hostname}, sent at ${isoTime(createdAt)} with "sterna send-test".\n`
  const body = { from: fromIn(input, services, scope), to: argument(input, 0), subject: `Test from ${hostname}`, text }
  const { id } = (await services.perform('emails.send', { scope, body })) as { id: string }
  return { id, createdAt }
}

function fromIn(input: CommandInput, { sendingDomains }: CommandServices, { accountId, sandbox }: AccountScope): string {
  const given = textOption(input, 'from')
  if (given !== undefined) return given
  if (sandbox) return 'test@example.com'
  const domain = sendingDomains.list(accountId).find(({ status }) => status === 'verified')
  if (domain) return `test@${domain.name}`
  const message =
    'The account has no verified domain to send from. "sterna domain add" and "sterna domain verify" make one; --sandbox needs none.'
  throw new SternaError('domain_not_verified', message)
}

function waitIn(input: CommandInput): number {
  try {
    return duration.parse(textOption(input, 'wait') ?? standardWait)
  } catch (error) {
    throw usageFault(`--wait ${messageOf(error)}`)
  }
}

const attemptText = (attempt: AttemptRow): string => {
  const [first = '', ...more] = attemptLines(attempt)
  return [`${first}: ${attempt.reply ?? 'no reply'}`, ...more.map((line) => `    ${line}`)].map(printable).join('\n')
}

/** What became of the test, as a sentence. */
function summary(test: TestMail, { id, createdAt }: { id: string; createdAt: number }): string {
  const { recipient, attempts } = test
  const last = attempts.at(-1)
  if (!isOver(test) || !recipient) {
    const next = recipient?.due_at ? ` The next attempt is due at ${shownTime(recipient.due_at)}.` : ''
    return `Not delivered yet, and still in the queue.${next} See how it goes on with: sterna message show ${id}`
  }
  if (recipient.state === 'suppressed')
    return `Nothing was sent: ${recipient.forward_path} is suppressed. "sterna suppression check" says why.`
  if (recipient.state !== 'delivered' || !last) return `Not delivered: ${printable(recipient.last_response ?? recipient.state)}`
  const seconds = ((last.started_at + last.duration_ms - createdAt) / 1000).toFixed(1)
  const how = `${last.tls === null ? 'without TLS' : 'over TLS'}, ${last.selectors ? 'signed with DKIM' : 'without a DKIM signature'}`
  return `Delivered after ${seconds} s: ${last.mx_host ?? "the recipient's server"} took it ${how}.`
}
