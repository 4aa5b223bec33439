import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'

export interface ClientReply {
  code: number
  /** Without codes, one a line. */
  lines: string[]
  /** The last line, whole. */
  last: string
}

/** An SMTP client that sends exactly the bytes it is given, in the pieces it is given them in. */
export class SmtpClient {
  #socket: Socket
  #received = ''
  #waiting: (() => void)[] = []
  #ended = false

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#listen(socket)
  }

  /** Connects and reads the greeting. */
  static async connect(
    port: number,
    options: { tls?: boolean; host?: string; localAddress?: string; greeting?: boolean; before?: Buffer } = {},
  ): Promise<SmtpClient> {
    const { tls = false, host = '127.0.0.1', localAddress = '127.0.0.1', greeting = true, before = Buffer.alloc(0) } = options
    const socket = await new Promise<Socket>((resolve, reject) => {
      const plain = connectTcp({ port, host, localAddress })
      // What a proxy sends ahead.
      if (before.length > 0) plain.write(before)
      const opening: Socket = tls
        ? connectTls({ socket: plain, rejectUnauthorized: false }, () => resolve(opening))
        : plain.once('connect', () => resolve(opening))
      plain.once('error', reject)
      opening.once('error', reject)
    })
    socket.setNoDelay(true)
    const client = new SmtpClient(socket)
    if (greeting) await client.reply()
    return client
  }

  /** Connects to a submission port, and logs in over TLS. */
  static async logIn(port: number, key: string): Promise<SmtpClient> {
    const client = await SmtpClient.connect(port)
    await client.command('EHLO client.example')
    await client.command('STARTTLS')
    await client.startTls()
    await client.login(key)
    return client
  }

  write(bytes: string | Buffer): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : bytes)
  }

  /** Sends the bytes in two pieces that the server in this process reads one after the other. */
  async writeSplit(bytes: Buffer, at: number): Promise<void> {
    this.write(bytes.subarray(0, at))
    await nextRead()
    this.write(bytes.subarray(at))
  }

  /** Sends every byte by itself. */
  async writeBytewise(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at++) {
      this.write(bytes.subarray(at, at + 1))
      await nextRead()
    }
  }

  /** The next reply; rejects where the server hangs up first. */
  async reply(): Promise<ClientReply> {
    for (;;) {
      // Not `.`, which stops at U+2028 too.
      const end = /^(?:\d{3}-[^\n]*\n)*\d{3} [^\n]*\n/.exec(this.#received)
      if (end) {
        this.#received = this.#received.slice(end[0].length)
        const lines = end[0].slice(0, -2).split('\r\n')
        const last = lines.at(-1) ?? ''
        return { code: Number(last.slice(0, 3)), lines: lines.map((line) => line.slice(4)), last }
      }
      if (this.#ended) throw new Error(`the server has hung up; before that it said ${JSON.stringify(this.#received)}`)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  async command(line: string): Promise<ClientReply> {
    this.write(`${line}\r\n`)
    return this.reply()
  }

  /** The last lines of the replies to commands sent together. */
  async pipeline(lines: string[]): Promise<string[]> {
    this.write(lines.map((line) => `${line}\r\n`).join(''))
    const replies: string[] = []
    for (const _ of lines) replies.push((await this.reply()).last)
    return replies
  }

  /** Takes the connection over into TLS, after the reply to STARTTLS. */
  async startTls(): Promise<void> {
    const plain = this.#socket
    plain.removeAllListeners()
    this.#socket = await new Promise<Socket>((resolve, reject) => {
      const opening = connectTls({ socket: plain, rejectUnauthorized: false }, () => resolve(opening))
      opening.once('error', reject)
    })
    this.#listen(this.#socket)
  }

  /** SHA-256 of the server's certificate; only with TLS. */
  get fingerprint(): string {
    return (this.#socket as TLSSocket).getPeerCertificate().fingerprint256
  }

  /** EHLO, and login with PLAIN. */
  async login(key: string): Promise<ClientReply> {
    await this.command('EHLO client.example')
    return this.command(`AUTH PLAIN ${Buffer.from(`\0user\0${key}`).toString('base64')}`)
  }

  /** One message; the reply to the first command that was refused, or to the message. */
  async send(message: string | Buffer, envelope: { from?: string; to?: string[] } = {}): Promise<ClientReply> {
    const { from = 'me@example.com', to = ['you@example.net'] } = envelope
    for (const line of [`MAIL FROM:<${from}>`, ...to.map((address) => `RCPT TO:<${address}>`), 'DATA']) {
      const reply = await this.command(line)
      if (reply.code >= 400) return reply
    }
    this.write(message)
    this.write('\r\n.\r\n')
    return this.reply()
  }

  /** What is left to read when the server has closed the connection. */
  async untilClosed(): Promise<string> {
    while (!this.#ended) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return this.#received
  }

  close(): void {
    this.#socket.destroy()
  }

  #listen(socket: Socket): void {
    const wake = (): void => {
      for (const resolve of this.#waiting.splice(0)) resolve()
    }
    const end = (): void => {
      this.#ended = true
      wake()
    }
    socket.on('data', (bytes: Buffer) => {
      this.#received += bytes.toString('utf8')
      wake()
    })
    socket.on('error', end)
    socket.on('end', end)
    socket.on('close', end)
  }
}

/** Written bytes are at the other end at once, on loopback; one round of the event loop reads them. */
async function nextRead(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}
