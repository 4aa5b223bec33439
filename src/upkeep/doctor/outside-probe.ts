import { request as requestPlain, type IncomingMessage } from 'node:http'
import { request as requestTls } from 'node:https'
import { connect } from 'node:net'
import { connect as connectTls, TLSSocket } from 'node:tls'
import { connectionFault } from '../../mail-out/delivery/tls-policy.ts'
import { SmtpDialogue } from '../../mail-out/delivery/smtp-dialogue.ts'
import { Transcript } from '../../mail-out/delivery/transcript.ts'

/** A port of somebody's server, as it is reached from here. */
export interface RemotePort {
  /** The name that its certificate must have. */
  host: string
  address: string
  port: number
  /** True if TLS begins with the first byte. */
  isTls: boolean
}

/** A certificate as clients judge it. */
export interface SeenTls {
  /** Why they do not trust it; null if they do. */
  problem: string | null
  /** Epoch, ms. */
  endsAt: number
}

/** What an SMTP server says to a stranger. */
export interface SeenSmtp {
  /** Its first line without the code. */
  greeting: string
  /** Null if it offers no TLS. */
  tls: SeenTls | null
  /** True if it takes a message of a stranger for another domain. */
  isOpenRelay: boolean
}

export interface SeenWeb {
  status: number
  isSterna: boolean
  /** Whether it sends pages on to https. */
  redirects: boolean
  tls: SeenTls | null
}

export type Fault = { fault: string }

const maxMs = 15_000
/** bytes */
const maxBody = 64 * 1024

/** Greets an SMTP server, encrypts if it can, and asks whether it takes mail for another domain. Sends no message. Never throws. */
export async function probeSmtp(remote: RemotePort, ehloName: string): Promise<SeenSmtp | Fault> {
  const { host, address, port, isTls } = remote
  const socket = isTls ? connectTls({ ...tlsOptions(host), host: address, port }) : connect({ host: address, port })
  const session = new Session(socket)
  try {
    const { text: greeting } = await session.expect(220, 'the connection')
    const isOffered = /^STARTTLS$/im.test((await session.ask(`EHLO ${ehloName}`, 250)).text)
    if (!isTls && isOffered) {
      await session.ask('STARTTLS', 220)
      await session.encrypt(host)
      await session.ask(`EHLO ${ehloName}`, 250)
    }
    return { greeting: greeting.split('\n')[0] ?? '', tls: session.tls, isOpenRelay: await session.relays() }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  } finally {
    session.close()
  }
}

const tlsOptions = (servername: string) => ({ servername, rejectUnauthorized: false })

/** A dialogue as a stranger has it. Its methods throw when the server does not do what is expected. */
class Session {
  #dialogue: SmtpDialogue
  readonly #endsAt = performance.now() + maxMs

  constructor(socket: SmtpDialogue['socket']) {
    this.#dialogue = this.#over(socket)
  }

  get tls(): SeenTls | null {
    return this.#dialogue.socket instanceof TLSSocket ? seenTls(this.#dialogue.socket) : null
  }

  async expect(code: number, what: string) {
    const heard = await this.#dialogue.reply(maxMs, what)
    if ('broken' in heard) throw new Error(heard.broken)
    if (heard.code !== code) throw new Error(`it answers ${heard.code} ${heard.text.split('\n')[0]}`)
    return heard
  }

  ask(command: string, code: number) {
    this.#dialogue.send([command])
    return this.expect(code, command)
  }

  async encrypt(host: string): Promise<void> {
    const socket = connectTls({ socket: this.#dialogue.detach(), ...tlsOptions(host) })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    socket.setTimeout(maxMs, () => socket.destroy(new Error('the TLS handshake took too long')))
    socket.once('secureConnect', resolve).once('error', (error) => reject(new Error(`TLS failed: ${connectionFault(error)}`)))
    await promise
    this.#dialogue = this.#over(socket)
  }

  /** Neither address exists (RFC 2606). */
  async relays(): Promise<boolean> {
    this.#dialogue.send(['MAIL FROM:<probe@relay-test.invalid>'])
    const sender = await this.#dialogue.reply(maxMs, 'MAIL')
    if ('broken' in sender || sender.code !== 250) return false
    this.#dialogue.send(['RCPT TO:<probe@relay-test.invalid>'])
    const recipient = await this.#dialogue.reply(maxMs, 'RCPT')
    return !('broken' in recipient) && recipient.code < 300
  }

  close(): void {
    this.#dialogue.quit()
    this.#dialogue.socket.unref()
  }

  #over(socket: SmtpDialogue['socket']): SmtpDialogue {
    const dialogue = new SmtpDialogue(socket, new Transcript())
    dialogue.endsAt = this.#endsAt
    return dialogue
  }
}

/** Asks a web server for the health of a Sterna, and without TLS whether it is there for more. Follows no redirect. Never throws. */
export async function probeWeb(remote: RemotePort): Promise<SeenWeb | Fault> {
  const health = await askWeb(remote, '/healthz')
  if ('fault' in health || remote.isTls) return health
  const page = await askWeb(remote, '/')
  return { ...health, redirects: 'redirects' in page && page.redirects }
}

async function askWeb({ host, address, port, isTls }: RemotePort, path: string): Promise<SeenWeb | Fault> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage | Fault>()
  const options = { host: address, port, path, headers: { host }, agent: false, timeout: maxMs, ...tlsOptions(host) }
  const request = isTls ? requestTls(options) : requestPlain(options)
  request.once('response', resolve)
  request.once('upgrade', (_, socket) => {
    socket.destroy()
    resolve({ fault: 'it answers with status 101' })
  })
  request.once('timeout', () => request.destroy(new Error('time-out')))
  request.once('error', (error) => resolve({ fault: connectionFault(error) }))
  request.end()
  const response = await promise
  if ('fault' in response) return response
  try {
    const tls = response.socket instanceof TLSSocket ? seenTls(response.socket) : null
    const isSterna = /^\{"status":"(?:ok|unavailable)","version":/.test(await bodyOf(response))
    const { statusCode: status = 0, headers } = response
    return { status, isSterna, redirects: status >= 300 && status < 400 && /^https:/i.test(headers.location ?? ''), tls }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  } finally {
    request.destroy()
  }
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  let body = ''
  for await (const part of response as AsyncIterable<Buffer>) {
    body += part.toString('latin1')
    if (body.length > maxBody) break
  }
  return body
}

const problems: Record<string, string> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name',
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'is from an authority that nobody else knows',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'is from an authority that nobody else knows',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'comes without its intermediate certificate',
}

function seenTls(socket: TLSSocket): SeenTls {
  const error = socket.authorized ? null : String(socket.authorizationError)
  return { problem: error && (problems[error] ?? `is not trusted (${error})`), endsAt: Date.parse(socket.getPeerCertificate().valid_to) }
}
