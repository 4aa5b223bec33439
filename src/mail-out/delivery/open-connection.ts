import { connect } from 'node:net'
import { connect as connectTls, TLSSocket, type SecureContext } from 'node:tls'
import type { Reply } from '../../platform/smtp/reply.ts'
import type { DeliveryTimeouts } from './delivery-timeouts.ts'
import { MxConnection, type ConnectionTls } from './mx-connection.ts'
import { deferral, isExpected, hostOutcomeOf, type HostOutcome } from './outcome.ts'
import type { RouteHost } from './route.ts'
import { logIn, type LoginGate } from './smarthost-login.ts'
import { SmtpDialogue, type Heard } from './smtp-dialogue.ts'
import { connectionFault, handshakeOptions, isTlsFault, tlsObjection, type TlsPolicy, type TlsTrouble } from './tls-policy.ts'
import { tlsTroubleIn } from './tls-trouble.ts'
import type { AttemptContext } from './transcript.ts'

export interface ConnectionServices {
  ehloName: string
  timeouts: DeliveryTimeouts
  secureContext: SecureContext
  /** How we log in to the smarthost. */
  loginGate: LoginGate
}

/** No connection. `unreachable`: not even TCP answered. */
type NotOpened = HostOutcome & { unreachable: boolean }

interface Opening extends AttemptContext {
  host: RouteHost
  policy: TlsPolicy
  services: ConnectionServices
}

/** This process may open no more sockets, which says nothing about the host. */
type OutOfSockets = 'out of sockets'

type Opened = MxConnection | NotOpened

/** What both sides know once they can talk about mail. */
interface Session {
  tls: ConnectionTls | null
  extensions: Map<string, string>
}

/** Connects, greets, encrypts as the policy requires, and logs in to the smarthost. */
export async function openConnection(
  host: RouteHost,
  policy: TlsPolicy,
  services: ConnectionServices,
  context: AttemptContext,
): Promise<Opened | OutOfSockets> {
  const opening = { ...context, host, policy, services }
  const refusal = host.smarthost?.login && services.loginGate.refusal
  if (refusal) return notOpened(deferral('policy', where(host, refusal)))
  context.transcript.note(`${host.name} ${host.address}:${host.port}`)
  const { dialogue, banner, isConnected } = dial(opening)
  const greeting = await banner
  if ('broken' in greeting && greeting.isOutOfSockets) return 'out of sockets'
  if ('broken' in greeting || !isExpected('banner', greeting)) {
    dialogue.quit()
    return { ...failure(host, 'banner', greeting), unreachable: !isConnected() }
  }
  if (dialogue.socket instanceof TLSSocket) return inTls(dialogue, opening)
  const extensions = await hello(dialogue, opening)
  if (!(extensions instanceof Map)) return notOpened(extensions, dialogue)
  if (policy !== 'none' && extensions.has('STARTTLS')) {
    const secured = await startTls(dialogue, opening)
    if (secured !== null) return secured
  }
  const objection = tlsObjection(policy, null)
  if (objection) return notOpened(deferral('policy', where(host, objection)), dialogue)
  return loggedIn(dialogue, opening, { tls: null, extensions })
}

interface Dialled {
  dialogue: SmtpDialogue
  banner: Promise<Heard>
  isConnected: () => boolean
}

function dial({ host, services, transcript, endsAt }: Opening): Dialled {
  let connected = false
  const at = { host: host.address, port: host.port, noDelay: true }
  const isImplicit = host.smarthost?.tls?.isImplicit === true
  const socket = isImplicit ? connectTls({ ...handshakeOptions(host.name, services.secureContext), ...at }) : connect(at)
  const dialogue = new SmtpDialogue(socket, transcript, services.timeouts.afterthought)
  dialogue.endsAt = endsAt
  const banner = dialogue.reply(services.timeouts.connect, 'the connection')
  socket.once('connect', () => {
    connected = true
    if (isImplicit) dialogue.allow(services.timeouts.handshake, 'the TLS handshake')
    else dialogue.allow(services.timeouts.banner, 'the connection')
  })
  socket.once('secureConnect', () => dialogue.allow(services.timeouts.banner, 'the connection'))
  return { dialogue, banner, isConnected: () => connected }
}

/** The host's extensions by keyword (RFC 5321 4.1.1.1); none if it knows only HELO. */
async function hello(dialogue: SmtpDialogue, { host, services }: Opening, isInTls = false): Promise<Map<string, string> | HostOutcome> {
  const refused = (heard: Heard): HostOutcome => ({
    ...failure(host, 'ehlo', heard),
    tlsTrouble: isInTls ? tlsTroubleIn(heard) : undefined,
  })
  dialogue.send([`EHLO ${services.ehloName}`])
  const answer = await dialogue.reply(services.timeouts.command, 'EHLO')
  if ('broken' in answer) return refused(answer)
  if (isExpected('ehlo', answer)) return parseExtensions(answer)
  if (answer.code < 500 || dialogue.broken) return refused(answer)
  dialogue.send([`HELO ${services.ehloName}`])
  const second = await dialogue.reply(services.timeouts.command, 'HELO')
  return !('broken' in second) && isExpected('ehlo', second) ? new Map<string, string>() : refused(second)
}

function parseExtensions(reply: Reply): Map<string, string> {
  const extensions = new Map<string, string>()
  for (const line of reply.text.split('\n').slice(1)) {
    const [keyword = '', ...params] = line.trim().split(/[ =]+/)
    extensions.set(keyword.toUpperCase(), params.join(' ').toUpperCase())
  }
  return extensions
}

/** Null if the host refused and the policy allows plain text. */
async function startTls(dialogue: SmtpDialogue, opening: Opening): Promise<Opened | null> {
  const { host, policy, services, transcript } = opening
  dialogue.send(['STARTTLS'])
  const answer = await dialogue.reply(services.timeouts.command, 'STARTTLS')
  if ('broken' in answer) return notOpened({ ...failure(host, 'starttls', answer), tlsTrouble: tlsTroubleIn(answer) })
  // By now, bytes after the reply have broken the dialogue: they would count as sent under TLS (CVE-2011-0411).
  if (dialogue.broken) return notOpened(failure(host, 'starttls', dialogue.broken))
  if (!isExpected('starttls', answer)) {
    if (policy === 'opportunistic') return answer.code === 421 ? notOpened(failure(host, 'starttls', answer), dialogue) : null
    return notOpened(deferral('policy', where(host, `TLS is required, but the host refused it: ${answer.code} ${answer.text}`)), dialogue)
  }
  const socket = await handshake(dialogue, opening)
  if (socket instanceof TLSSocket) {
    const secured = new SmtpDialogue(socket, transcript, services.timeouts.afterthought)
    secured.endsAt = opening.endsAt
    return inTls(secured, opening)
  }
  const { fault, tlsTrouble } = socket
  transcript.note(`TLS handshake failed: ${fault}`)
  const isRequired = policy !== 'opportunistic'
  const reason = isRequired ? `TLS is required, but the handshake failed: ${fault}` : `the TLS handshake failed: ${fault}`
  return notOpened({ ...deferral(isRequired ? 'policy' : 'other', where(host, reason)), tlsTrouble })
}

/** What follows a handshake. */
async function inTls(dialogue: SmtpDialogue, opening: Opening): Promise<Opened> {
  const { host, policy, transcript } = opening
  const tls = tlsOf(dialogue.socket as TLSSocket)
  transcript.note(`${tls.version} ${tls.cipher}${tls.verified ? '' : `, certificate not valid: ${tls.problem}`}`)
  const objection = tlsObjection(policy, tls)
  if (objection) return notOpened(deferral('policy', where(host, objection)), dialogue)
  // RFC 3207 4.2: forget what the host offered in plain text.
  const extensions = await hello(dialogue, opening, true)
  if (!(extensions instanceof Map)) return notOpened(extensions, dialogue)
  return loggedIn(dialogue, opening, { tls, extensions })
}

/** The connection, ready for mail. */
async function loggedIn(dialogue: SmtpDialogue, { host, services }: Opening, { tls, extensions }: Session): Promise<Opened> {
  const { timeouts, loginGate } = services
  const connection = new MxConnection({ dialogue, extensions, tls, host, timeouts })
  const credentials = host.smarthost?.login
  if (!credentials) return connection
  const offered = extensions.get('AUTH')?.split(' ') ?? []
  const how = { offered, isVerified: tls?.verified === true, timeoutMs: timeouts.command }
  const failed = await loginGate.run(() => logIn(dialogue, credentials, how))
  return failed ? notOpened(deferral('policy', where(host, failed.reason)), dialogue) : connection
}

interface FailedHandshake {
  fault: string
  tlsTrouble: TlsTrouble
}

/** The encrypted socket, or why there is none. */
function handshake(dialogue: SmtpDialogue, { host, services, endsAt }: Opening): Promise<TLSSocket | FailedHandshake> {
  const plain = dialogue.detach()
  return new Promise((resolve) => {
    const end = (failed?: FailedHandshake): void => {
      clearTimeout(timer)
      socket.off('error', onError).off('close', onClose)
      if (failed) {
        socket.on('error', () => {}).destroy()
        plain.destroy()
      }
      resolve(failed ?? socket)
    }
    const breakOff = (fault: string): void => end({ fault, tlsTrouble: 'broken off' })
    const onError = (error: Error): void =>
      end({ fault: connectionFault(error), tlsTrouble: isTlsFault(error) ? 'impossible' : 'broken off' })
    const onClose = (): void => breakOff('the host closed the connection')
    plain.on('error', () => {})
    const socket = connectTls({ ...handshakeOptions(host.name, services.secureContext), socket: plain }, () => end())
    socket.on('error', onError).on('close', onClose)
    const timer = setTimeout(() => breakOff('time-out'), Math.max(0, Math.min(services.timeouts.handshake, endsAt - performance.now())))
  })
}

const tlsOf = (socket: TLSSocket): ConnectionTls => ({
  version: socket.getProtocol() ?? 'unknown',
  cipher: socket.getCipher().name,
  verified: socket.authorized,
  problem: socket.authorized ? '' : String(socket.authorizationError),
})

const where = (host: RouteHost, what: string): string => `${host.name} (${host.address}): ${what}`

function failure(host: RouteHost, phase: 'banner' | 'ehlo' | 'starttls', heard: Heard): HostOutcome {
  if ('broken' in heard) return deferral(heard.category, where(host, heard.broken))
  const verdict = hostOutcomeOf(phase, heard, host.name)
  const { outcome } = verdict
  // Whatever the smarthost holds against us does not concern the recipients.
  if (!host.smarthost || outcome.type !== 'bounced') return verdict
  return { ...verdict, outcome: { type: 'deferred', reply: outcome.reply, category: 'policy', reason: outcome.reason } }
}

function notOpened(verdict: HostOutcome, dialogue?: SmtpDialogue): NotOpened {
  dialogue?.quit()
  return { ...verdict, unreachable: false }
}
