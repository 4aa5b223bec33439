import type { BaseServices } from '../../platform/base-services.ts'
import { newId } from '../../platform/id.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import type { ContentStream } from '../../mail-in/smtp-server/content-stream.ts'
import { ClientGone, readToEnd } from '../../mail-in/smtp-server/read-message.ts'
import { SmtpRefusal, isRefusal, refusalFor, replyOf } from '../../mail-in/smtp-server/smtp-refusal.ts'
import type { RcptCommand } from '../../mail-in/smtp-server/envelope-command.ts'
import type { Transaction } from '../../mail-in/smtp-server/smtp-session.ts'
import { traceField } from '../../mail-in/smtp-server/trace-field.ts'
import type { FreeSpace } from '../../mail-in/submission/free-space.ts'
import type { ReturnedMailStore, ReturnPathPurpose, ReturnPathRecipient } from './returned-mail-store.ts'
import { ReturnedMailCollector, type ReturnedMailMemory } from './returned-mail-collector.ts'

export interface ReceiveServices extends Pick<BaseServices, 'clock' | 'log' | 'metrics'> {
  space: Pick<FreeSpace, 'require'>
  returnedMail: Pick<ReturnedMailStore, 'keep'>
  memory: ReturnedMailMemory
  /** What an address is for, or the reply that refuses it. */
  recipientOf(recipient: RcptCommand): ReturnPathRecipient | Reply
}

interface ReceiveOptions {
  hostname: string
  maxMessageBytes: number
}

/** bytes kept of a bounce, a complaint or unsubscribe mail: its report, and the beginning of our message that it returns */
export const keptOfReport = 256 * 1024
/** bytes; domain reports and mail for the operator are of no use unless they are whole */
const maxWholeBytes = 2 * 1024 * 1024
/** What a message is that may be cut short. */
const reports: ReadonlySet<ReturnPathPurpose> = new Set(['bounce', 'complaint', 'unsubscribe'])

/** Receives one message. The 250 is sent only when the message is on disk. */
export async function receiveReturnedMail(
  transaction: Transaction<'anyone'>,
  stream: ContentStream,
  services: ReceiveServices,
  options: ReceiveOptions,
): Promise<Reply> {
  const { clock, log, memory } = services
  const { client } = transaction
  const id = newId('rep', clock.now())
  const about = { returnedMailId: id, connectionId: client.connectionId, address: client.address }
  const collector = new ReturnedMailCollector(memory, sizeFor(transaction.recipients, services, options))
  try {
    await readToEnd(stream, collector, neverFull)
    await keep(id, transaction, collector.finish(traceOf(id, transaction, clock.now(), options)), services)
    log.debug(about, 'returned mail accepted')
    return replyOf(250, '2.0.0', `Ok: accepted as ${id}`)
  } catch (error) {
    const reply = refusalFor(error)
    if (error instanceof ClientGone) log.info(about, 'SMTP client disconnected before its message was complete')
    else if (isRefusal(error)) log.info({ ...about, reply: `${reply.code} ${reply.enhancedStatus} ${reply.text}` }, 'returned mail refused')
    else log.error({ ...about, error }, 'returned mail could not be stored')
    return reply
  } finally {
    collector.drop()
  }
}

/** Everything stays in memory. */
const neverFull = { isFull: false, spill: async () => {} }

function sizeFor(commands: RcptCommand[], { recipientOf }: ReceiveServices, { maxMessageBytes }: ReceiveOptions) {
  const mayBeCut = commands.every((command) => {
    const recipient = recipientOf(command)
    return 'purpose' in recipient && reports.has(recipient.purpose)
  })
  return mayBeCut ? { accepted: maxMessageBytes, kept: keptOfReport } : { accepted: maxWholeBytes, kept: maxWholeBytes }
}

function traceOf(id: string, { client, mail }: Transaction<'anyone'>, now: number, { hostname }: ReceiveOptions): Buffer {
  return Buffer.from(`${traceField({ client, namesClient: true, hostname, id, smtputf8: mail.smtputf8, authenticated: false, now })}\r\n`)
}

async function keep(
  id: string,
  { client, mail, recipients: commands }: Transaction<'anyone'>,
  content: Uint8Array,
  services: ReceiveServices,
): Promise<void> {
  const recipients = recipientsOf(commands, services)
  services.space.require(content.length)
  const isKept = await services.returnedMail.keep({
    id,
    reversePath: mail.reversePath,
    recipients,
    remoteAddress: client.address,
    ehloName: client.ehloName,
    tls: client.secure,
    requireTls: mail.asked?.transfer?.requireTls === true,
    content,
  })
  if (!isKept) throw new SmtpRefusal(mailboxFull)
  for (const { purpose } of recipients) services.metrics.reportsReceived[purpose].add()
}

/** Removes duplicates, ignoring case. */
function recipientsOf(commands: RcptCommand[], services: ReceiveServices): ReturnPathRecipient[] {
  const byAddress = new Map<string, ReturnPathRecipient>()
  for (const command of commands) {
    const recipient = services.recipientOf(command)
    // The address expired after RCPT.
    if ('code' in recipient) throw new SmtpRefusal(recipient)
    byAddress.set(recipient.forwardPath.toLowerCase(), recipient)
  }
  return [...byAddress.values()]
}

const mailboxFull = replyOf(452, '4.2.2', 'The mailbox is full, try again later')
