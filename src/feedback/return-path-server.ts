import { clientNetwork } from '../ip-address.ts'
import { minuteMs, RateLimiter } from '../rate-limiter.ts'
import { openSmtpPorts, type SmtpServer } from '../smtp-server/open-smtp-ports.ts'
import { replyOf } from '../smtp-server/smtp-refusal.ts'
import type { SmtpHandlers } from '../smtp-server/smtp-session.ts'
import { receiveReturnedMail, type ReceiveServices } from './receive-returned-mail.ts'
import { ReturnedMailMemory } from './returned-mail-collector.ts'
import { returnPathRecipient, type ReturnPathContext } from './return-path-recipient.ts'

interface ReturnPathServices extends Omit<ReceiveServices, 'memory' | 'recipientOf'>, Omit<ReturnPathContext, 'now'> {
  /** PEM, both. */
  tls: { key: string; cert: string }
}

export interface ReturnPathOptions {
  /** Ports with STARTTLS. */
  listen: { host: string; port: number }[]
  /** Our name in greetings and Received fields, and the domain of a bare `postmaster`. */
  hostname: string
  /** From one client address, over all ports. */
  maxConnectionsPerAddress: number
  /** From one client address; 0 sets no limit. */
  messagesPerMinute: number
  /** Over all ports. */
  maxConnections: number
  /** Networks in CIDR notation. */
  trustedProxies: readonly string[]
}

/** A report with all of the message it is about is cut far below this by those who send them. */
export const maxReturnedMailBytes = 2 * 1024 * 1024
/** RFC 5321 4.5.3.1.8 asks for a hundred. */
const maxRecipients = 100
/** bytes of reports that may be arriving at once */
const maxArriving = 128 * 1024 * 1024

/**
 * Opens the ports where mail servers hand over what comes back: bounces, complaints, reports, and mail for the postmaster.
 * Nobody logs in; a recipient that is not an address of ours is refused, and nothing is ever passed on or answered by mail.
 * @throws SternaError `configuration` where a port cannot be opened; then none is left open
 */
export async function startReturnPathServer(services: ReturnPathServices, options: ReturnPathOptions): Promise<SmtpServer> {
  const { hostname, maxConnections, maxConnectionsPerAddress, trustedProxies } = options
  const settings = {
    hostname,
    tls: services.tls,
    allowPlaintextAuthOnLoopback: false,
    maxMessageBytes: maxReturnedMailBytes,
    maxRecipients,
    postmaster: `postmaster@${hostname}`,
    maxConnections,
    maxConnectionsPerAddress,
    trustedProxies,
    clock: services.clock,
    log: services.log,
  }
  const places = options.listen.map((place) => ({ ...place, tls: false, setting: 'return_path.listen' }))
  return openSmtpPorts(places, settings, handlersFor(services, options))
}

function handlersFor(services: ReturnPathServices, { hostname, messagesPerMinute }: ReturnPathOptions): SmtpHandlers<'anyone'> {
  const { clock, isOurs, tokenKey } = services
  const rate = new RateLimiter(clock, { limit: messagesPerMinute, windowMs: minuteMs })
  const memory = new ReturnedMailMemory(maxArriving)
  const recipientOf: ReceiveServices['recipientOf'] = ({ forwardPath }) =>
    returnPathRecipient(forwardPath, { isOurs, tokenKey, now: clock.now() })
  return {
    access: { anyone: 'anyone' },
    mayBegin(_, client) {
      if (rate.take(clientNetwork(client.address)) === 0) return null
      services.metrics.rateLimits.return_path_messages.add()
      return tooFast
    },
    mayReceive(command) {
      const recipient = recipientOf(command)
      return 'code' in recipient ? recipient : null
    },
    take: (transaction, content) =>
      receiveReturnedMail(transaction, content, { ...services, memory, recipientOf }, { hostname, maxMessageBytes: maxReturnedMailBytes }),
  }
}

const tooFast = replyOf(451, '4.7.1', 'Too many messages from your address within a minute, try again in a minute')
