import type { BaseServices } from '../../platform/base-services.ts'
import type { Config } from '../../platform/config/settings.ts'
import type { ApiKeys, AuthenticatedKey } from '../../senders/account/api-keys.ts'
import type { RefusedLogins } from '../../senders/account/refused-logins.ts'
import type { TlsFiles } from '../../platform/certificate/server-certificates.ts'
import { openSmtpPorts, type SmtpServer } from '../smtp-server/open-smtp-ports.ts'
import { refusalFor, replyOf } from '../smtp-server/smtp-refusal.ts'
import type { SmtpHandlers } from '../smtp-server/smtp-session.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import type { Changes } from '../../platform/store/changes.ts'
import { StorageFullError } from '../../platform/store/database.ts'
import type { SharedRate } from '../../platform/store/shared-rate.ts'
import { FailedLogins } from './failed-logins.ts'
import type { FreeSpace } from './free-space.ts'
import { countRefusals } from './count-refusals.ts'
import { receiveMessage, type ReceiveServices } from './receive-message.ts'

interface SubmissionServerServices extends Omit<ReceiveServices, 'mayStillSend'>, Pick<BaseServices, 'db'> {
  changes: Pick<Changes, 'caughtUp'>
  apiKeys: Pick<ApiKeys, 'authenticate' | 'current'>
  refusedLogins: Pick<RefusedLogins, 'note'>
  space: Pick<FreeSpace, 'has'>
  /** Of messages, by account. */
  messageRate: Pick<SharedRate, 'take'>
  tls: TlsFiles
}

export interface SubmissionServerOptions extends Pick<Config, 'hostname' | 'trustedProxies'>, Readonly<Config['submission']> {
  maxMessageBytes: number
  /** For all ports together. */
  maxConnections: number
}

/**
 * Opens the ports for submission over SMTP (RFC 6409, RFC 8314): those with STARTTLS, then those with TLS.
 * @throws SternaError `configuration` if a port cannot be opened; then none stays open
 */
export async function startSubmissionServer(services: SubmissionServerServices, options: SubmissionServerOptions): Promise<SmtpServer> {
  const places = [
    ...options.listen.map((place) => ({ ...place, tls: false, setting: 'submission.listen' })),
    ...options.tlsListen.map((place) => ({ ...place, tls: true, setting: 'submission.tls_listen' })),
  ]
  return openSmtpPorts(
    places,
    { ...options, tls: services.tls, clock: services.clock, submissionClock: services.clock, log: services.log },
    countRefusals(handlersFor(services, options), services.metrics),
  )
}

function handlersFor(services: SubmissionServerServices, options: SubmissionServerOptions): SmtpHandlers<AuthenticatedKey> {
  const { apiKeys, changes, messageRate, refusedLogins, space, metrics } = services
  const failedLogins = new FailedLogins(services)
  const mayStillSend = (key: AuthenticatedKey): Reply | null => {
    const now = apiKeys.current(key)
    return 'refused' in now ? badKey : sendingRefusal(now)
  }
  const refusalAfter = (waitMs: number): Reply | null => {
    if (waitMs === 0) return null
    metrics.rateLimits.smtp_messages.add()
    return tooFast
  }
  const receiving = { ...services, mayStillSend }
  return {
    access: {
      async login(password, client) {
        let key = apiKeys.authenticate(password)
        if ('refused' in key) {
          // Another node may have just made it.
          if (await changes.caughtUp()) key = apiKeys.authenticate(password)
        }
        if (!('refused' in key)) {
          const reply = loginRefusal(key)
          return reply ? { reply, delayMs: 0 } : key
        }
        const { address, connectionId } = client
        refusedLogins.note('SMTP login refused', { address, connectionId, reason: key.refused })
        const { isTooMany, delayMs } = await failedLogins.add(address)
        if (isTooMany) metrics.rateLimits.failed_logins.add()
        return { reply: isTooMany ? tooManyFailures : badKey, delayMs }
      },
      accountOf: ({ accountId }) => accountId,
    },
    mayBegin(key, _, { size }) {
      const refusal = mayStillSend(key)
      if (refusal) return refusal
      // RFC 1870 6.1: a message that does not fit need not be sent.
      if (!space.has(size ?? 0)) return noRoom
      const waitMs = messageRate.take(key.accountId)
      return typeof waitMs === 'number' ? refusalAfter(waitMs) : waitMs.then(refusalAfter)
    },
    take: (transaction, content) => receiveMessage(transaction, content, receiving, options),
  }
}

/** Nothing here reveals whether a key exists: only its holder gets past the first answer. */
const badKey = replyOf(535, '5.7.8', 'The API key is not valid. Use an API key as the password; any user name will do')
const tooManyFailures = replyOf(421, '4.7.0', 'Too many failed logins from your address, try again in ten minutes')
const tooFast = replyOf(451, '4.7.1', 'Your account has reached its limit of messages per minute, try again in a minute')
const noRoom = refusalFor(new StorageFullError())
const suspendedText = 'The account is suspended and cannot send. Ask the operator of this server'
const permissionText = 'This API key cannot send mail, it needs the permission sending_access or full_access'

function loginRefusal(key: AuthenticatedKey): Reply | null {
  const refusal = sendingRefusal(key)
  return refusal && replyOf(535, key.accountStatus === 'active' ? '5.7.8' : '5.7.13', refusal.text)
}

function sendingRefusal({ permission, accountStatus }: AuthenticatedKey): Reply | null {
  if (accountStatus !== 'active') return replyOf(550, '5.7.1', suspendedText)
  return permission === 'sending_access' || permission === 'full_access' ? null : replyOf(550, '5.7.1', permissionText)
}
