import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { SecureContext, TLSSocket } from 'node:tls'
import type { Reply } from '../smtp/reply.ts'
import type { DeliveryTimeouts } from './delivery-timeouts.ts'
import { MxConnection } from './mx-connection.ts'
import type { ConnectionTls } from './mx-connection.ts'
import { deferral, isExpected, verdictOf } from './outcome.ts'
import type { Verdict } from './outcome.ts'
import type { RouteHost } from './route.ts'
import { SmtpDialogue } from './smtp-dialogue.ts'
import type { Heard } from './smtp-dialogue.ts'
import { afterFailedHandshake, handshakeOptions, tlsObjection } from './tls-policy.ts'
import type { TlsPolicy } from './tls-policy.ts'
import type { AttemptFrame } from './transcript.ts'

export interface ConnectionParts {
  ehloName: string
  timeouts: DeliveryTimeouts
  secureContext: SecureContext
}

/** No connection. `unreachable`: not even TCP was answered. */
type NotOpened = Verdict & { unreachable: boolean }

interface Opening extends AttemptFrame {
  host: RouteHost
  parts: ConnectionParts
}

/** This process may open no more sockets: that says nothing of the host. */
type OutOfSockets = 'out of sockets'

/** What one try at opening came to; a failed handshake may be followed by another try. */
type Tried = MxConnection | NotOpened | OutOfSockets | { handshake: string }

/** Connects, greets and encrypts as the policy has it; where a handshake fails and the policy bears it, once more in plain text. */
export async function openConnection(
  host: RouteHost,
  policy: TlsPolicy,
  parts: ConnectionParts,
  frame: AttemptFrame,
): Promise<MxConnection | NotOpened | OutOfSockets> {
  const opening = { ...frame, host, parts }
  const tried = await open(opening, policy)
  if (tried === 'out of sockets' || !('handshake' in tried)) return tried
  frame.transcript.note(`TLS handshake failed: ${tried.handshake}`)
  const next = afterFailedHandshake(policy)
  const again = next ? await open(opening, next) : null
  if (again && (again === 'out of sockets' || !('handshake' in again))) return again
  return notOpened(deferral('policy', where(host, `TLS is required here, but the handshake failed: ${tried.handshake}`)))
}

async function open(opening: Opening, policy: TlsPolicy): Promise<Tried> {
  const { host, parts, transcript } = opening
  transcript.note(`${host.name} ${host.address}:${host.port}`)
  const { dialogue, banner, isConnected } = dial(opening)
  const greeting = await banner
  if ('broken' in greeting && greeting.isOutOfSockets) return 'out of sockets'
  if ('broken' in greeting || !isExpected('banner', greeting)) {
    dialogue.quit()
    return { ...failure(host, 'banner', greeting), unreachable: !isConnected() }
  }
  const extensions = await hello(dialogue, opening)
  if (!(extensions instanceof Map)) return notOpened(extensions, dialogue)
  if (policy !== 'none' && extensions.has('STARTTLS')) {
    const secured = await startTls(dialogue, opening, policy)
    if (secured !== null) return secured
  }
  const objection = tlsObjection(policy, null)
  if (objection) return notOpened(deferral('policy', where(host, objection)), dialogue)
  return new MxConnection({ dialogue, extensions, tls: null, host, timeouts: parts.timeouts })
}

function dial({ host, parts, transcript, endsAt }: Opening): { dialogue: SmtpDialogue; banner: Promise<Heard>; isConnected: () => boolean } {
  let connected = false
  const socket = connect({ host: host.address, port: host.port, noDelay: true })
  const dialogue = new SmtpDialogue(socket, transcript)
  dialogue.endsAt = endsAt
  const banner = dialogue.reply(parts.timeouts.connect, 'the connection')
  socket.once('connect', () => {
    connected = true
    dialogue.allow(parts.timeouts.banner, 'the connection')
  })
  return { dialogue, banner, isConnected: () => connected }
}

/** The extensions that the host offers, by keyword (RFC 5321 4.1.1.1); none of a host that knows HELO only. */
async function hello(dialogue: SmtpDialogue, { host, parts }: Opening): Promise<Map<string, string> | Verdict> {
  dialogue.send([`EHLO ${parts.ehloName}`])
  const answer = await dialogue.reply(parts.timeouts.command, 'EHLO')
  if ('broken' in answer) return failure(host, 'ehlo', answer)
  if (isExpected('ehlo', answer)) return parseExtensions(answer)
  if (answer.code < 500 || dialogue.broken) return failure(host, 'ehlo', answer)
  dialogue.send([`HELO ${parts.ehloName}`])
  const second = await dialogue.reply(parts.timeouts.command, 'HELO')
  return !('broken' in second) && isExpected('ehlo', second) ? new Map<string, string>() : failure(host, 'ehlo', second)
}

function parseExtensions(reply: Reply): Map<string, string> {
  const extensions = new Map<string, string>()
  for (const line of reply.text.split('\n').slice(1)) {
    const [keyword = '', ...params] = line.trim().split(/[ =]+/)
    extensions.set(keyword.toUpperCase(), params.join(' ').toUpperCase())
  }
  return extensions
}

/** Null where the host refused and the policy lets the mail go on in plain text. */
async function startTls(dialogue: SmtpDialogue, opening: Opening, policy: TlsPolicy): Promise<Tried | null> {
  const { host, parts, transcript } = opening
  dialogue.send(['STARTTLS'])
  const answer = await dialogue.reply(parts.timeouts.command, 'STARTTLS')
  // Bytes behind the reply have broken the dialogue by now: they would count as sent under TLS (CVE-2011-0411).
  if ('broken' in answer || dialogue.broken) return notOpened(failure(host, 'starttls', dialogue.broken ?? answer))
  if (!isExpected('starttls', answer)) {
    if (policy === 'opportunistic' && answer.code !== 421) return null
    return notOpened(deferral('policy', where(host, `TLS is required here, but refused: ${answer.code} ${answer.text}`)), dialogue)
  }
  const socket = await handshake(dialogue, opening)
  if (typeof socket === 'string') return { handshake: socket }
  const tls = tlsOf(socket)
  transcript.note(`${tls.version} ${tls.cipher}${tls.verified ? '' : `, certificate not valid: ${tls.problem}`}`)
  const secured = new SmtpDialogue(socket, transcript)
  secured.endsAt = opening.endsAt
  const objection = tlsObjection(policy, tls)
  if (objection) return notOpened(deferral('policy', where(host, objection)), secured)
  // RFC 3207 4.2: what the host offered in plain text is forgotten.
  const extensions = await hello(secured, opening)
  if (!(extensions instanceof Map)) return notOpened(extensions, secured)
  return new MxConnection({ dialogue: secured, extensions, tls, host, timeouts: parts.timeouts })
}

/** The encrypted socket, or why there is none. */
function handshake(dialogue: SmtpDialogue, { host, parts, endsAt }: Opening): Promise<TLSSocket | string> {
  const plain = dialogue.detach()
  return new Promise((resolve) => {
    const end = (result: TLSSocket | string): void => {
      clearTimeout(timer)
      socket.off('error', onError).off('close', onClose)
      if (typeof result === 'string') {
        socket.on('error', () => {}).destroy()
        plain.destroy()
      }
      resolve(result)
    }
    const onError = (error: Error): void => end(error.message)
    const onClose = (): void => end('the host closed the connection')
    plain.on('error', () => {})
    const socket = connectTls({ ...handshakeOptions(host.name, parts.secureContext), socket: plain }, () => end(socket))
    socket.on('error', onError).on('close', onClose)
    const timer = setTimeout(() => end('time-out'), Math.max(0, Math.min(parts.timeouts.handshake, endsAt - performance.now())))
  })
}

const tlsOf = (socket: TLSSocket): ConnectionTls => ({
  version: socket.getProtocol() ?? 'unknown',
  cipher: socket.getCipher().name,
  verified: socket.authorized,
  problem: socket.authorized ? '' : String(socket.authorizationError),
})

const where = (host: RouteHost, what: string): string => `${host.name} (${host.address}): ${what}`

const failure = (host: RouteHost, phase: 'banner' | 'ehlo' | 'starttls', heard: Heard): Verdict =>
  'broken' in heard ? deferral(heard.category, where(host, heard.broken)) : verdictOf(phase, heard, host.name)

function notOpened(verdict: Verdict, dialogue?: SmtpDialogue): NotOpened {
  dialogue?.quit()
  return { ...verdict, unreachable: false }
}
