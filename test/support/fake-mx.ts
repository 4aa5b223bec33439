import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createSecureContext, TLSSocket, type SecureContext, type SecureVersion } from 'node:tls'

/**
 * What the server does at a phase: a reply (CRLF is added; with `raw:` before it the text is written as it is), an end
 * (`close` FIN, `reset` RST, `hang` nothing), a reply one byte after the other, one that waits for something, or a text again and again.
 */
export type MxAction =
  | string
  | 'close'
  | 'reset'
  | 'hang'
  | { slowly: string; everyMs: number }
  | { endlessly: string }
  | { reply: string; after: Promise<unknown> }
  | { reply: string; end: 'close' | 'reset' }

/** At a phase: undefined does what a willing server does. */
export interface MxHooks {
  banner?: (connection: MxSession) => MxAction | undefined
  /** EHLO and HELO; the argument is the whole command. */
  ehlo?: (command: string, connection: MxSession) => MxAction | undefined
  starttls?: (connection: MxSession) => MxAction | undefined
  /** AUTH, and each line that follows a 334. */
  auth?: (line: string, connection: MxSession) => MxAction | undefined
  mail?: (address: string, params: string, connection: MxSession) => MxAction | undefined
  /** `count`: how often this address was given to RCPT on this connection, from 1. */
  rcpt?: (address: string, count: number, connection: MxSession) => MxAction | undefined
  data?: (connection: MxSession) => MxAction | undefined
  /** Once so many bytes of message data have come. */
  content?: (bytes: number, connection: MxSession) => MxAction | undefined
  dot?: (message: MxMessage, connection: MxSession) => MxAction | undefined
  rset?: (connection: MxSession) => MxAction | undefined
  quit?: (connection: MxSession) => MxAction | undefined
}

export interface MxMessage {
  mailFrom: string
  /** What follows the address: `SIZE=100 BODY=8BITMIME`. */
  mailParams: string
  rcptTo: string[]
  rcptParams: string[]
  /** The message, dots unstuffed, without the final dot line. */
  data: Buffer
  /** The bytes after the 354 reply, up to and with the end of data. */
  raw: Buffer
  tls: boolean
}

export interface MxSession {
  /** From 1. */
  number: number
  remoteAddress: string
  remotePort: number
  /** Every command line, without CRLF. */
  commands: string[]
  tls: boolean
  /** Whether its TLS session was begun by an earlier connection. */
  isResumed: boolean
  /** The name in its hello (SNI). */
  askedFor: string | null
  closed: boolean
}

export interface FakeTls {
  key: string
  cert: string
  maxVersion?: SecureVersion
  minVersion?: SecureVersion
  /** What it agrees to, in its order; OpenSSL's own list unless given. */
  groups?: string
  /** Refuses whoever shows no certificate. */
  demandsCertificate?: boolean
  /** Opens the tickets of other servers that have the same: 48 bytes. */
  ticketKeys?: Buffer
  /** False: every connection begins a session of its own. */
  resumes?: boolean
  /** What it does right after the handshake; `reset` sends no TLS close_notify. A function leaves the dialogue to go on. */
  afterHandshake?: 'close' | 'reset' | 'hang' | ((socket: TLSSocket) => void)
}

export interface FakeMxOptions {
  host?: string
  port?: number
  /**
   * Offers STARTTLS. `garbage` writes nonsense into the handshake, `hang` says nothing in it; a function has the socket once the client's first
   * bytes of the handshake have come.
   */
  tls?: FakeTls | 'garbage' | 'hang' | ((socket: Socket) => void) | undefined
  /** TLS from the first byte; not with STARTTLS. */
  isImplicitTls?: boolean
  /** Beside STARTTLS; PIPELINING, SIZE, 8BITMIME, SMTPUTF8, DSN and ENHANCEDSTATUSCODES unless given. */
  extensions?: string[]
  on?: MxHooks
}

export interface FakeMx {
  /** May be changed while the server runs. */
  options: FakeMxOptions
  host: string
  port: number
  messages: MxMessage[]
  sessions: MxSession[]
  /** May be changed while the server runs. */
  on: MxHooks
  /** Resolves once so many messages were accepted. */
  waitForMessages(count: number): Promise<MxMessage[]>
  /** Resets its connections. */
  cut(): void
  /** Ends every connection too. */
  close(): Promise<void>
}

const standardExtensions = ['PIPELINING', 'SIZE 36700160', '8BITMIME', 'SMTPUTF8', 'DSN', 'ENHANCEDSTATUSCODES']

/** A real SMTP server on loopback that does as it is told, and remembers what it was sent. */
export async function startFakeMx(options: FakeMxOptions = {}): Promise<FakeMx> {
  const { host = '127.0.0.1', port = 0 } = options
  const sockets = new Set<Socket>()
  const waiting: { count: number; resolve: (messages: MxMessage[]) => void }[] = []
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    const session: MxSession = {
      number: mx.sessions.length + 1,
      remoteAddress: socket.remoteAddress ?? '',
      remotePort: socket.remotePort ?? 0,
      commands: [],
      tls: false,
      isResumed: false,
      askedFor: null,
      closed: false,
    }
    mx.sessions.push(session)
    socket.on('close', () => {
      session.closed = true
      sockets.delete(socket)
    })
    new Conversation(socket, session, { options, mx, accepted })
  })
  const accepted = (): void => {
    for (const { resolve } of waiting.filter(({ count }) => mx.messages.length >= count)) resolve(mx.messages)
  }
  const mx: FakeMx = {
    options,
    host,
    port,
    messages: [],
    sessions: [],
    on: options.on ?? {},
    waitForMessages: (count) =>
      mx.messages.length >= count ? Promise.resolve(mx.messages) : new Promise((resolve) => waiting.push({ count, resolve })),
    cut() {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        for (const socket of sockets) socket.destroy()
      }),
  }
  await new Promise<void>((done, failed) => server.once('error', failed).listen(port, host, done))
  mx.port = (server.address() as AddressInfo).port
  return mx
}

const contexts = new WeakMap<FakeTls, SecureContext>()

/** The same for all connections, because sessions are resumed only in the context that they began in. */
function contextOf(tls: FakeTls): SecureContext {
  const { groups, ...options } = tls
  const known = tls.resumes === false ? undefined : contexts.get(tls)
  const context = known ?? createSecureContext({ ...options, ...(groups && { ecdhCurve: groups }), sessionIdContext: 'mx' })
  contexts.set(tls, context)
  return context
}

interface World {
  options: FakeMxOptions
  mx: FakeMx
  accepted: () => void
}

const endOfData = Buffer.from('\r\n.\r\n')

class Conversation {
  #socket: Socket
  readonly #raw: Socket
  readonly #session: MxSession
  readonly #world: World
  #received: Buffer = Buffer.alloc(0)
  #data: Buffer | null = null
  #dead = false
  #mail: { address: string; params: string } | null = null
  #rcpt: { address: string; params: string }[] = []
  #isLoggingIn = false
  readonly #rcptCounts = new Map<string, number>()
  /** Replies leave in the order of their commands, also where one is slow. */
  #sent: Promise<void> = Promise.resolve()

  constructor(socket: Socket, session: MxSession, world: World) {
    this.#socket = socket
    this.#raw = socket
    this.#session = session
    this.#world = world
    socket.on('error', () => {})
    const { tls, isImplicitTls } = world.options
    if (isImplicitTls && typeof tls === 'object') this.#encrypt(tls)
    else socket.on('data', this.#onData)
    this.#act(this.#on.banner?.(session) ?? '220 mx.test ESMTP')
  }

  get #on(): MxHooks {
    return this.#world.mx.on
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#dead) return
    this.#received = Buffer.concat([this.#received, chunk])
    this.#read()
  }

  #read(): void {
    while (!this.#dead) {
      if (this.#data) {
        if (!this.#readContent()) return
        continue
      }
      const end = this.#received.indexOf('\r\n')
      if (end === -1) return
      const line = this.#received.toString('utf8', 0, end)
      this.#received = this.#received.subarray(end + 2)
      this.#session.commands.push(line)
      this.#obey(line)
    }
  }

  /** True where the message was complete. */
  #readContent(): boolean {
    const size = (this.#data?.length ?? 0) + this.#received.length
    const action = size > 0 ? this.#on.content?.(size, this.#session) : undefined
    if (action !== undefined) {
      this.#act(action)
      if (this.#dead) return false
    }
    const all = Buffer.concat([this.#data ?? Buffer.alloc(0), this.#received])
    const isEmpty = all.subarray(0, 3).toString() === '.\r\n'
    const at = isEmpty ? -2 : all.indexOf(endOfData)
    if (at === -1) {
      this.#data = all
      this.#received = Buffer.alloc(0)
      return false
    }
    this.#received = all.subarray(at + 5)
    this.#data = null
    this.#finish(all.subarray(0, at + 5))
    return true
  }

  #finish(raw: Buffer): void {
    const text = raw.toString('latin1').slice(0, -3)
    const message: MxMessage = {
      mailFrom: this.#mail?.address ?? '',
      mailParams: this.#mail?.params ?? '',
      rcptTo: this.#rcpt.map(({ address }) => address),
      rcptParams: this.#rcpt.map(({ params }) => params),
      data: Buffer.from(text.replace(/(^|\r\n)\./g, '$1'), 'latin1'),
      raw: Buffer.from(raw),
      tls: this.#session.tls,
    }
    this.#mail = null
    this.#rcpt = []
    const action = this.#on.dot?.(message, this.#session) ?? '250 2.0.0 Ok: queued'
    const isAccepted = textOf(action).startsWith('2')
    if (isAccepted) this.#world.mx.messages.push(message)
    this.#act(action)
    if (isAccepted) this.#world.accepted()
  }

  #obey(line: string): void {
    if (this.#isLoggingIn) return this.#logIn(line)
    const verb = line.split(/[ :]/, 1)[0]?.toUpperCase()
    switch (verb) {
      case 'EHLO':
        return this.#act(this.#on.ehlo?.(line, this.#session) ?? this.#greeting())
      case 'HELO':
        return this.#act(this.#on.ehlo?.(line, this.#session) ?? '250 mx.test')
      case 'STARTTLS':
        return this.#startTls()
      case 'AUTH':
        return this.#logIn(line)
      case 'MAIL': {
        const { address, params } = argument(line)
        this.#mail = { address, params }
        return this.#act(this.#on.mail?.(address, params, this.#session) ?? '250 2.1.0 Ok', () => (this.#mail = null))
      }
      case 'RCPT':
        return this.#rcptTo(line)
      case 'DATA': {
        const action = this.#on.data?.(this.#session) ?? (this.#rcpt.length > 0 ? '354 Go ahead' : '554 5.5.1 No valid recipients')
        if (action === '354' || (typeof action === 'string' && action.startsWith('354'))) this.#data = Buffer.alloc(0)
        return this.#act(action)
      }
      case 'RSET':
        this.#mail = null
        this.#rcpt = []
        return this.#act(this.#on.rset?.(this.#session) ?? '250 2.0.0 Ok')
      case 'QUIT':
        return this.#act(this.#on.quit?.(this.#session) ?? { reply: '221 2.0.0 Bye', end: 'close' })
      default:
        return this.#act('500 5.5.1 Unknown command')
    }
  }

  #logIn(line: string): void {
    const action = this.#on.auth?.(line, this.#session) ?? '502 5.5.1 Not offered'
    this.#isLoggingIn = typeof action === 'string' && action.startsWith('334')
    this.#act(action)
  }

  #greeting(): string {
    const { extensions = standardExtensions, tls } = this.#world.options
    const lines = ['mx.test', ...extensions, ...(tls && !this.#session.tls ? ['STARTTLS'] : [])]
    return lines.map((line, i) => `250${i < lines.length - 1 ? '-' : ' '}${line}`).join('\r\n')
  }

  #rcptTo(line: string): void {
    const { address, params } = argument(line)
    const count = (this.#rcptCounts.get(address) ?? 0) + 1
    this.#rcptCounts.set(address, count)
    const action = this.#on.rcpt?.(address, count, this.#session) ?? (this.#mail ? '250 2.1.5 Ok' : '503 5.5.1 MAIL first')
    if (typeof action === 'object' || /(?:^|raw:|\n)2\d\d(?!-)/.test(action)) this.#rcpt.push({ address, params })
    this.#act(action)
  }

  #startTls(): void {
    const { tls } = this.#world.options
    const action = this.#on.starttls?.(this.#session) ?? (tls ? '220 2.0.0 Ready' : '502 5.5.1 Not offered')
    this.#act(action)
    if (typeof action !== 'string' || !action.startsWith('220') || !tls) return
    void this.#sent.then(() => {
      this.#raw.off('data', this.#onData)
      if (tls === 'hang') return
      // Not before the client's first bytes: earlier, they would be an injection.
      if (tls === 'garbage') return void this.#raw.once('data', () => this.#raw.write('this is no TLS at all, it is nonsense\r\n'))
      if (typeof tls === 'function') return void this.#raw.once('data', () => tls(this.#raw))
      this.#encrypt(tls)
    })
  }

  #encrypt(tls: FakeTls): void {
    const isDemanding = tls.demandsCertificate === true
    const secure = new TLSSocket(this.#raw, {
      isServer: true,
      secureContext: contextOf(tls),
      requestCert: isDemanding,
      rejectUnauthorized: isDemanding,
    })
    secure.on('error', () => this.#raw.destroy())
    secure.once('secure', () => {
      this.#session.tls = true
      this.#session.isResumed = secure.isSessionReused()
      this.#session.askedFor = secure.servername || null
      if (typeof tls.afterHandshake === 'function') tls.afterHandshake(secure)
      else if (tls.afterHandshake) this.#end(tls.afterHandshake)
    })
    secure.on('data', this.#onData)
    this.#socket = secure
    this.#received = Buffer.alloc(0)
  }

  #act(action: MxAction, refused?: () => void): void {
    if (typeof action === 'string' && /^[45]/.test(action)) refused?.()
    if (action === 'close' || action === 'reset' || action === 'hang') return this.#end(action)
    const socket = this.#socket
    if (typeof action === 'string') {
      const text = action.startsWith('raw:') ? action.slice(4) : `${action}\r\n`
      this.#sent = this.#sent.then(() => void socket.write(text))
    } else if ('slowly' in action) {
      this.#sent = this.#sent.then(() => writeSlowly(socket, `${action.slowly}\r\n`, action.everyMs))
    } else if ('endlessly' in action) {
      this.#dead = true
      this.#sent = this.#sent.then(() => writeEndlessly(socket, action.endlessly))
    } else if ('after' in action) {
      this.#sent = this.#sent.then(() => action.after).then(() => void socket.write(`${action.reply}\r\n`))
    } else {
      this.#sent = this.#sent.then(() => void socket.write(`${action.reply}\r\n`))
      this.#end(action.end)
    }
  }

  #end(how: 'close' | 'reset' | 'hang'): void {
    this.#dead = true
    if (how === 'hang') return
    void this.#sent.then(() => (how === 'close' ? this.#socket.end() : this.#raw.resetAndDestroy()))
  }
}

function textOf(action: MxAction): string {
  if (typeof action === 'string') return action.replace(/^raw:/, '')
  if ('reply' in action) return action.reply
  return 'slowly' in action ? action.slowly : action.endlessly
}

/** As fast as it is taken. */
async function writeEndlessly(socket: Socket, text: string): Promise<void> {
  const ended = new Promise((resolve) => socket.once('close', resolve))
  while (!socket.destroyed) if (!socket.write(text)) await Promise.race([once(socket, 'drain').catch(() => {}), ended])
}

/** For `afterHandshake`, below TLS 1.3: has so many more handshakes made, one after the other. */
export function renegotiate(socket: TLSSocket, times: number): void {
  // Each adds a listener.
  socket.setMaxListeners(0)
  if (times > 0 && !socket.destroyed) socket.renegotiate({}, (error) => error === null && renegotiate(socket, times - 1))
}

async function writeSlowly(socket: Socket, text: string, everyMs: number): Promise<void> {
  for (const letter of text) {
    if (socket.destroyed) return
    socket.write(letter)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

function argument(line: string): { address: string; params: string } {
  const found = /^[A-Z]+ (?:FROM|TO):<([^>]*)>(?: (.*))?$/i.exec(line)
  return { address: found?.[1] ?? `unreadable: ${line}`, params: found?.[2] ?? '' }
}
