import { createConnection } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** Where clients send, with an API key. Asked for each connection and each request, so that it may name one node after the other. */
export interface MailEntrance {
  readonly submissionPort: number
  readonly httpPort: number
  readonly token: string
}

/** What clients were told, kept outside the server. */
export interface Ledger {
  /** Acknowledged: a 250 or a 200 was read. */
  acknowledged: Set<string>
  /** Sent, but nothing answered, also not later: it may or may not have been taken. */
  unknown: Set<string>
  /** Answers other than success, and how often. */
  refusals: Map<string, number>
}

export interface LoadSettings {
  smtpClients: number
  httpClients: number
  /** bytes */
  size: number
  /** What the ids of messages begin with; default: nothing. */
  prefix?: string
  /** How long a client waits after each message, ms; default: not at all. */
  pauseMs?: number
  /** Called at the moment at which a client reads that its message was taken. */
  onAcknowledged?(id: string): void
}

/** How long a client waits for an answer over HTTP, ms: longer than a server that cannot write takes to say so. */
const answerMs = 30_000

/**
 * Clients that send messages with numbers of their own, over SMTP and HTTP, until stopped. Over HTTP a request without
 * an answer is repeated with its idempotency key, as a good client does.
 */
export function startMixedLoad(server: MailEntrance, settings: LoadSettings): { ledger: Ledger; stop(): Promise<void> } {
  const ledger: Ledger = { acknowledged: new Set(), unknown: new Set(), refusals: new Map() }
  const filler = 'All work and no play makes a dull relay.\r\n'
  const body = filler.repeat(Math.ceil(settings.size / filler.length)).slice(0, settings.size)
  const { prefix = '', pauseMs = 0 } = settings
  let isStopped = false
  let number = 0

  const acknowledged = (id: string): void => {
    ledger.acknowledged.add(id)
    ledger.unknown.delete(id)
    settings.onAcknowledged?.(id)
  }
  const refused = (answer: string): void => {
    ledger.refusals.set(answer, (ledger.refusals.get(answer) ?? 0) + 1)
  }

  async function smtpClient(): Promise<void> {
    while (!isStopped) {
      await smtpSession().catch(() => {})
      if (!isStopped) await pause(20)
    }
  }

  async function smtpSession(): Promise<void> {
    const dialogue = openDialogue(server.submissionPort)
    try {
      await dialogue.reply()
      await dialogue.ask('EHLO client.example\r\n')
      await dialogue.ask(`AUTH PLAIN ${Buffer.from(`\0any\0${server.token}`).toString('base64')}\r\n`)
      for (let i = 0; i < 20 && !isStopped; i++) {
        const id = `${prefix}s${number++}`
        await dialogue.ask('MAIL FROM:<app@sender.example>\r\n')
        const rcpt = await dialogue.ask(`RCPT TO:<${id}@rcpt${number % 5}.example>\r\n`)
        const data = rcpt.startsWith('250') ? await dialogue.ask('DATA\r\n') : rcpt
        if (!data.startsWith('354')) {
          refused(data.slice(0, 9))
          await dialogue.ask('RSET\r\n')
          await pause(20)
          continue
        }
        ledger.unknown.add(id)
        const head = `From: app@sender.example\r\nTo: ${id}@rcpt.example\r\nSubject: ${id}\r\nX-Campaign: ${id}\r\n\r\n`
        const answer = await dialogue.ask(`${head}${body}\r\n.\r\n`)
        if (answer.startsWith('250')) acknowledged(id)
        else {
          ledger.unknown.delete(id)
          refused(answer.slice(0, 9))
          await pause(20)
        }
        if (pauseMs > 0) await pause(pauseMs)
      }
      await dialogue.ask('QUIT\r\n')
    } finally {
      dialogue.end()
    }
  }

  async function httpClient(): Promise<void> {
    while (!isStopped) {
      const id = `${prefix}h${number++}`
      const request = {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.token}`,
          'content-type': 'application/json',
          'idempotency-key': id,
        },
        body: JSON.stringify({
          from: 'app@sender.example',
          to: `${id}@rcpt${number % 5}.example`,
          subject: id,
          text: body,
          headers: { 'X-Campaign': id },
        }),
      }
      for (let tries = 0; tries < 200 && !ledger.acknowledged.has(id); tries++) {
        const signal = AbortSignal.timeout(answerMs)
        const response = await fetch(`http://127.0.0.1:${server.httpPort}/api/emails`, { ...request, signal }).catch(() => null)
        if (response) await response.text().catch(() => {})
        else ledger.unknown.add(id)
        if (response?.status === 200) acknowledged(id)
        else {
          if (response) refused(String(response.status))
          if (isStopped) return
          await pause(50)
        }
      }
      if (pauseMs > 0) await pause(pauseMs)
    }
  }

  const clients = [...Array.from({ length: settings.smtpClients }, smtpClient), ...Array.from({ length: settings.httpClients }, httpClient)]
  return {
    ledger,
    async stop() {
      isStopped = true
      await Promise.all(clients)
    },
  }
}

/** One SMTP connection, question and answer. */
function openDialogue(port: number) {
  const socket = createConnection({ host: '127.0.0.1', port, noDelay: true })
  let text = ''
  let waiting: { resolve: (reply: string) => void; reject: (error: Error) => void } | undefined
  const look = (): void => {
    const match = /^(?:\d{3}-.*\r\n)*(\d{3} .*)\r\n/.exec(text)
    if (!match || !waiting) return
    text = text.slice(match[0].length)
    const { resolve } = waiting
    waiting = undefined
    resolve(match[1] ?? '')
  }
  const fail = (): void => waiting?.reject(new Error('the connection ended'))
  socket.setEncoding('latin1')
  socket.on('data', (part: string) => {
    text += part
    look()
  })
  socket.on('error', fail)
  socket.on('close', fail)
  const reply = (): Promise<string> =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject }
      if (socket.destroyed) fail()
      look()
    })
  return {
    reply,
    ask(command: string): Promise<string> {
      const answer = reply()
      socket.write(command)
      return answer
    },
    end: () => socket.destroy(),
  }
}
