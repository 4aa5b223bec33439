import type { Reply } from '../../platform/smtp/reply.ts'
import type { LeaseDeadline } from '../../platform/store/lease-deadline.ts'
import { call, type Call } from './host-call.ts'
import type { ClassicalHosts } from './classical-hosts.ts'
import { MxConnection } from './mx-connection.ts'
import { bounce, deferral, isExpected, hostOutcomeOf, type HostOutcome } from './outcome.ts'
import { hostText, type RouteHost } from './route.ts'
import type { PipeliningTroubles } from './pipelining-troubles.ts'
import { logInTo, whyNoLogin, type LoginParts } from './smarthost-access.ts'
import { SmtpDialogue, type Heard } from './smtp-dialogue.ts'
import { handshake, largeHelloOf, secure, type HandshakeOpening, type HandshakeServices } from './tls-handshake.ts'
import { tlsTroubleIn } from './tls-trouble.ts'
import type { AttemptContext } from './transcript.ts'
import type { ConnectionTls } from './transport-facts.ts'
import { failureOf, namedObjection, publishedFor, toldSource, type SessionShown, type TlsSession } from './tls-session.ts'
import type { Shown, TransportPolicy } from './transport-policy.ts'

export interface ConnectionServices extends HandshakeServices, LoginParts {
  ehloName: string
  classicalHosts: ClassicalHosts
  pipelining: PipeliningTroubles
  /** Called with what each completed handshake has shown. */
  noteTls: (tls: ConnectionTls) => void
  /** Called once for each connection that came as far as TLS, for the reports on TLS; null if none are sent. */
  noteSession: ((session: TlsSession) => void) | null
  /** When what we have in hand may be another node's. */
  lease: Pick<LeaseDeadline, 'isPast'>
}

interface Opening extends AttemptContext, HandshakeOpening {
  services: ConnectionServices
  /** A socket that is connected already; taken by who uses it. */
  call: Call | null
  seen: Seen
}

/** What the last of several tries with a host has seen. */
interface Seen {
  /** Null if it did not come that far. */
  shown: SessionShown | null
  /** Ours, if it is public and sessions are noted. */
  sourceAddress: string | null
}

/** This process may open no more sockets, which says nothing about the host. */
type OutOfSockets = 'out of sockets'

type Opened = MxConnection | HostOutcome

/** What both sides know once they can talk about mail. */
interface Session {
  tls: ConnectionTls | null
  /** How the host refused TLS that it offers. */
  refused?: string
  extensions: Map<string, string>
}

/** Opens a connection, and notes its TLS session for the reports on TLS. */
export async function openConnection(
  host: RouteHost,
  policy: TransportPolicy,
  services: ConnectionServices,
  context: AttemptContext & { connected: Call | null },
): Promise<Opened | OutOfSockets> {
  const seen: Seen = { shown: null, sourceAddress: null }
  const opened = await openWithRetries(host, policy, services, { ...context, seen })
  const { shown, sourceAddress } = seen
  const { reportedFor: destination } = context
  if (services.noteSession && shown && destination && !host.smarthost) {
    const published = publishedFor(policy, destination)
    const failure = failureOf(shown, policy, published)
    services.noteSession({ destination, policy: published, mxHost: host.name, address: host.address, sourceAddress, failure })
  }
  return opened
}

/**
 * Connects, greets, encrypts as the policy requires, and logs in to the smarthost. Resumes an earlier TLS session with the host; if that
 * fails, which says nothing about its TLS, it connects again with a full handshake. If the host drops a large hello, it connects again
 * with small ones. `connected`: to begin with, if another has connected to the host already.
 */
async function openWithRetries(
  host: RouteHost,
  policy: TransportPolicy,
  services: ConnectionServices,
  context: AttemptContext & { connected: Call | null; seen: Seen },
): Promise<Opened | OutOfSockets> {
  const { sessions, classicalHosts } = services
  const groups = classicalHosts.includes(host, context.at) ? 'classical' : 'all'
  let opening: Opening = {
    ...context,
    host,
    policy,
    services,
    offered: sessions.find(host, policy, groups),
    isResuming: false,
    groups,
    handshake: null,
    call: context.connected,
  }
  let opened = await open(opening)
  if (opening.isResuming && hasTlsTrouble(opened)) {
    sessions.forget(host)
    context.transcript.note('again, without resuming a TLS session')
    opening = { ...opening, offered: null, isResuming: false, handshake: null }
    opened = await open(opening)
  }
  if (groups === 'classical') {
    if (opening.handshake?.isDone === false) classicalHosts.failed(host)
    return opened
  }
  const largeHello = largeHelloOf(opening)
  if (largeHello === 'reached') classicalHosts.reached(host)
  if (largeHello === 'lost' && hasTlsTrouble(opened)) {
    context.transcript.note('again, with classical groups only: the host may drop large hellos')
    opening = { ...opening, groups: 'classical', handshake: null }
    opened = await open(opening)
    if (opening.handshake?.isDone) classicalHosts.lost(host, context.at)
  }
  return opened
}

const hasTlsTrouble = (opened: Opened | OutOfSockets): boolean =>
  typeof opened !== 'string' && !(opened instanceof MxConnection) && opened.tlsTrouble !== undefined

async function open(opening: Opening): Promise<Opened | OutOfSockets> {
  const { host, policy, services, transcript, seen } = opening
  const { smarthost } = host
  const refusal = smarthost?.login ? await whyNoLogin(smarthost, services, opening.at) : null
  if (refusal !== null) {
    opening.call?.socket.destroy()
    return notOpened(deferral('policy', where(host, refusal)))
  }
  transcript.note(hostText(host))
  const { dialogue, banner, tls } = dial(opening)
  const greeting = await banner
  if ('broken' in greeting && greeting.isOutOfSockets) return 'out of sockets'
  if ('broken' in greeting || !isExpected('banner', greeting)) {
    dialogue.quit()
    const lacksSource = 'broken' in greeting && greeting.lacksSource
    return { ...failure(host, 'banner', greeting), tlsTrouble: tls && tlsTroubleIn(greeting), lacksSource }
  }
  if (services.noteSession) seen.sourceAddress = toldSource(dialogue.socket.localAddress)
  if (tls) return inTls(dialogue, opening, await tls)
  const extensions = await hello(dialogue, opening)
  if (!(extensions instanceof Map)) return notOpened(extensions, dialogue)
  if (policy.mode !== 'plain' && extensions.has('STARTTLS')) {
    const secured = await startTls(dialogue, opening)
    if (!('refused' in secured)) return secured
    return loggedIn(dialogue, opening, { tls: null, refused: secured.refused, extensions })
  }
  const objection = noteShown(opening, { is: 'not offered' })
  return objection ? notOpened(objection, dialogue) : loggedIn(dialogue, opening, { tls: null, extensions })
}

interface Dialled {
  dialogue: SmtpDialogue
  banner: Promise<Heard>
  /** With TLS from the first byte, what the handshake will have shown. */
  tls?: Promise<ConnectionTls>
}

function dial(opening: Opening): Dialled {
  const { host, services, transcript, endsAt } = opening
  const made = opening.call ?? call(host)
  opening.call = null
  const secured = host.smarthost?.tls?.isImplicit === true ? secure(opening, made.socket) : null
  const dialogue = new SmtpDialogue(secured?.socket ?? made.socket, transcript, services.timeouts.afterthought)
  made.onData = dialogue.onData
  dialogue.endsAt = endsAt
  const banner = dialogue.reply(services.timeouts.connect, 'the connection')
  const onConnect = (): void => {
    if (secured) dialogue.allow(services.timeouts.handshake, 'the TLS handshake')
    else dialogue.allow(services.timeouts.banner, 'the connection')
  }
  if (made.socket.connecting) made.socket.once('connect', onConnect)
  else onConnect()
  void secured?.tls.then(() => dialogue.allow(services.timeouts.banner, 'the connection'))
  return { dialogue, banner, ...(secured && { tls: secured.tls }) }
}

/** The host's extensions by keyword (RFC 5321 4.1.1.1); none if it knows only HELO. */
async function hello(dialogue: SmtpDialogue, { host, services }: Opening, isInTls = false): Promise<Map<string, string> | HostOutcome> {
  const refused = (heard: Heard): HostOutcome => ({
    ...failure(host, 'ehlo', heard),
    tlsTrouble: isInTls ? tlsTroubleIn(heard) : undefined,
  })
  const ehloName = host.source?.ehloName ?? services.ehloName
  dialogue.send([`EHLO ${ehloName}`])
  const answer = await dialogue.reply(services.timeouts.command, 'EHLO')
  if ('broken' in answer) return refused(answer)
  if (isExpected('ehlo', answer)) return parseExtensions(answer)
  if (answer.code < 500 || dialogue.broken) return refused(answer)
  dialogue.send([`HELO ${ehloName}`])
  const second = await dialogue.reply(services.timeouts.command, 'HELO')
  return !('broken' in second) && isExpected('ehlo', second) ? new Map<string, string>() : refused(second)
}

function parseExtensions(reply: Reply): Map<string, string> {
  const extensions = new Map<string, string>()
  for (const line of reply.text.split('\n').slice(1)) {
    // AUTH may be followed by an equals sign, as before RFC 2554.
    const [, keyword = '', params = ''] = /^([^ =]*)[ =]*(.*)$/.exec(line.trim().toUpperCase()) ?? []
    extensions.set(keyword, params)
  }
  return extensions
}

/** `refused`: how the host refused, if the policy allows plain text. */
async function startTls(dialogue: SmtpDialogue, opening: Opening): Promise<Opened | { refused: string }> {
  const { host, services, transcript } = opening
  dialogue.send(['STARTTLS'])
  const answer = await dialogue.reply(services.timeouts.command, 'STARTTLS')
  if ('broken' in answer) return notOpened({ ...failure(host, 'starttls', answer), tlsTrouble: tlsTroubleIn(answer) })
  // By now, bytes after the reply have broken the dialogue: they would count as sent under TLS (CVE-2011-0411).
  if (dialogue.broken) return notOpened(failure(host, 'starttls', dialogue.broken))
  if (!isExpected('starttls', answer)) {
    const refused = `${answer.code} ${answer.text}`
    const objection = noteShown(opening, { is: 'refused', fault: refused }, answer.code >= 500)
    if (objection) return notOpened(objection, dialogue)
    return answer.code === 421 ? notOpened(failure(host, 'starttls', answer), dialogue) : { refused }
  }
  const secured = await handshake(dialogue.detach(), opening)
  if ('socket' in secured) {
    const dialogueInTls = new SmtpDialogue(secured.socket, transcript, services.timeouts.afterthought)
    dialogueInTls.endsAt = opening.endsAt
    return inTls(dialogueInTls, opening, await secured.tls)
  }
  const { fault, tlsTrouble } = secured
  transcript.note(`TLS handshake failed: ${fault}`)
  const objection = noteShown(opening, { is: 'failed', fault })
  return notOpened({ ...(objection ?? deferral('other', where(host, `the TLS handshake failed: ${fault}`))), tlsTrouble })
}

/** What follows a handshake. */
async function inTls(dialogue: SmtpDialogue, opening: Opening, tls: ConnectionTls): Promise<Opened> {
  const { policy, services, transcript } = opening
  services.noteTls(tls)
  const group = tls.group === null ? '' : ` ${tls.group}`
  const resumed = tls.isResumed ? ', session resumed' : ''
  transcript.note(`${tls.version} ${tls.cipher}${group}${resumed}${tls.verified ? '' : `, certificate not valid: ${tls.problem}`}`)
  const objection = noteShown(opening, { is: 'encrypted', problem: tls.problem })
  if (objection) return notOpened(objection, dialogue)
  // RFC 3207 4.2: forget what the host offered in plain text.
  const extensions = await hello(dialogue, opening, true)
  if (!(extensions instanceof Map)) return notOpened(extensions, dialogue)
  const endsHere = policy.isPassedOn && !extensions.has('REQUIRETLS') ? noteShown(opening, { is: 'not passed on' }) : null
  return endsHere ? notOpened(endsHere, dialogue) : loggedIn(dialogue, opening, { tls, extensions })
}

/** The connection, ready for mail. */
async function loggedIn(
  dialogue: SmtpDialogue,
  { host, policy, services, at }: Opening,
  { tls, refused, extensions }: Session,
): Promise<Opened> {
  const { timeouts, lease, pipelining } = services
  const mayPipeline = pipelining.allows(host, performance.now())
  const connection = new MxConnection({ dialogue, extensions, policy, tls, refused, host, timeouts, lease, mayPipeline })
  const { smarthost } = host
  if (!smarthost?.login) return connection
  const offered = extensions.get('AUTH')?.split(' ') ?? []
  const how = { offered, isVerified: tls?.verified === true, timeoutMs: timeouts.command }
  const failed = await logInTo(smarthost, { dialogue, services, now: at }, how)
  return failed ? notOpened(deferral('policy', where(host, failed.reason)), dialogue) : connection
}

/** Not even TCP has answered. */
export const unreachable = (host: RouteHost, { fault, code }: { fault: string; code: string | null }): HostOutcome => ({
  ...deferral(code === null ? 'timeout' : 'other', where(host, fault)),
  lacksSource: code === 'EADDRNOTAVAIL',
})

/**
 * Notes what came of TLS. Returns what the policy has against the host; null if nothing. Other mail waits until that changes; with REQUIRETLS
 * it is returned once no host takes it (RFC 8689 4.2.1), unless the host may say something else at another time.
 */
function noteShown({ host, policy, seen }: Opening, shown: Shown, isFinal = shown.is !== 'failed'): HostOutcome | null {
  // What is sent in plain text because TLS has failed before is no further session.
  if (policy.mode !== 'plain' && shown.is !== 'not passed on') seen.shown = shown
  const objection = namedObjection(policy, shown)
  if (objection === null) return null
  const reason = where(host, objection)
  if (!policy.isPassedOn || !isFinal) return deferral('policy', reason)
  const status = shown.is === 'not offered' || shown.is === 'refused' ? '5.7.10' : '5.7.30'
  return { outcome: bounce(`${status} ${reason}`, 'policy'), nextHost: true }
}

const where = (host: RouteHost, what: string): string => `${host.name} (${host.address}): ${what}`

function failure(host: RouteHost, phase: 'banner' | 'ehlo' | 'starttls', heard: Heard): HostOutcome {
  if ('broken' in heard) return deferral(heard.category, where(host, heard.broken))
  const verdict = hostOutcomeOf(phase, heard, host.name)
  const { outcome } = verdict
  // Whatever the smarthost holds against us does not concern the recipients.
  if (!host.smarthost || outcome.type !== 'bounced') return verdict
  return { ...verdict, outcome: { type: 'deferred', reply: outcome.reply, category: 'policy', reason: outcome.reason, phase } }
}

function notOpened(verdict: HostOutcome, dialogue?: SmtpDialogue): HostOutcome {
  dialogue?.quit()
  return verdict
}
