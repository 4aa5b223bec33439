import type { Config } from '../../platform/config/settings.ts'
import type { TlsFiles } from '../../platform/certificate/server-certificates.ts'
import type { Changes } from '../../platform/store/changes.ts'
import { clientNetwork } from '../../platform/ip-address.ts'
import { minuteMs, RateLimiter } from '../../platform/rate-limiter.ts'
import { openSmtpPorts, type SmtpServer } from '../../mail-in/smtp-server/open-smtp-ports.ts'
import { replyOf } from '../../mail-in/smtp-server/smtp-refusal.ts'
import type { SmtpHandlers } from '../../mail-in/smtp-server/smtp-session.ts'
import { receiveReturnedMail, type ReceiveServices } from './receive-returned-mail.ts'
import { ReturnedMailMemory } from './returned-mail-collector.ts'
import { returnPathRecipient, type ReturnPathContext } from './return-path-recipient.ts'

interface ReturnPathServices extends Omit<ReceiveServices, 'memory' | 'recipientOf'>, Omit<ReturnPathContext, 'now'> {
  changes: Pick<Changes, 'caughtUp'>
  tls: TlsFiles
}

export interface ReturnPathOptions
  extends
    Pick<Config, 'hostname' | 'messageSizeLimit' | 'trustedProxies'>,
    Pick<Config['returnPath'], 'listen' | 'maxConnectionsPerAddress' | 'messagesPerMinute'> {
  /** Over all ports. */
  maxConnections: number
}

/**
 * The largest report on a message of at most this size, bytes. The message may have left in base64 for a host without 8BITMIME, and come
 * back in base64 again: each adds 37 %. A mebibyte is for the report itself.
 */
export const maxReportBytes = (messageSizeLimit: number): number => 2 * messageSizeLimit + 1024 * 1024
/** RFC 5321 4.5.3.1.8 requires at least 100. */
const maxRecipients = 100
/** bytes of returned mail in memory while it arrives */
const maxArriving = 128 * 1024 * 1024

/**
 * Opens the ports where mail servers deliver returned mail: bounces, complaints, domain reports, and mail for the postmaster. There is no
 * login. Recipients that are not ours are refused, nothing is relayed, and no mail is sent in reply.
 * @throws SternaError `configuration` if a port cannot be opened; none stays open
 */
export async function startReturnPathServer(services: ReturnPathServices, options: ReturnPathOptions): Promise<SmtpServer> {
  const { hostname, maxConnections, maxConnectionsPerAddress, trustedProxies } = options
  const settings = {
    hostname,
    tls: services.tls,
    allowPlaintextAuthOnLoopback: false,
    maxMessageBytes: maxReportBytes(options.messageSizeLimit),
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

function handlersFor(
  services: ReturnPathServices,
  { hostname, messagesPerMinute, messageSizeLimit }: ReturnPathOptions,
): SmtpHandlers<'anyone'> {
  const { clock, isOurs, isVerified, tokenKeys } = services
  const rate = new RateLimiter(clock, { limit: messagesPerMinute, windowMs: minuteMs })
  const memory = new ReturnedMailMemory(maxArriving)
  const recipientOf: ReceiveServices['recipientOf'] = ({ forwardPath }) =>
    returnPathRecipient(forwardPath, { isOurs, isVerified, tokenKeys, now: clock.now() })
  const receiving = { hostname, maxMessageBytes: maxReportBytes(messageSizeLimit) }
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
    caughtUp: () => services.changes.caughtUp(),
    take: (transaction, content) => receiveReturnedMail(transaction, content, { ...services, memory, recipientOf }, receiving),
  }
}

const tooFast = replyOf(451, '4.7.1', 'Too many messages per minute from your address, try again in a minute')
