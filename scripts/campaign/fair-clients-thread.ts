/** Clients that behave, one session after the other, each on a connection of its own. Started by fair-clients.ts. */
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import type { FairClients, FairFigures } from './fair-clients.ts'

const { port, protocol, token, strangers, localAddress, seconds, clients } = workerData as FairClients
/** Longer than this is a failure, ms. */
const patienceMs = 10_000
/** Between two sessions of one client, ms. */
const betweenMs = 10

const message = 'From: app@sender.example\r\nTo: delivered@simulator.test\r\nSubject: One of many\r\n\r\nHello\r\n.'
const login = `AUTH PLAIN ${Buffer.from(`\0any\0${token}`).toString('base64')}`
const body = JSON.stringify({ from: 'app@sender.example', to: 'delivered@simulator.test', subject: 'One of many', text: 'Hello' })
const head = `Host: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n`

/** What is said, each after the answer to the one before, and how every answer but the greeting begins. */
const sessions: Record<FairClients['protocol'], { greeting: boolean; lines: string[]; answers: RegExp }[]> = {
  http: [
    {
      greeting: false,
      lines: [`POST /api/emails HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`],
      answers: /^HTTP\/1.1 200 [^]*\r\n\r\n./,
    },
    { greeting: false, lines: [`GET /api/emails?limit=1 HTTP/1.1\r\n${head}\r\n`], answers: /^HTTP\/1.1 200 [^]*\r\n\r\n./ },
  ],
  submission: [
    {
      greeting: true,
      lines: [
        'EHLO fair.example',
        login,
        'MAIL FROM:<app@sender.example>',
        'RCPT TO:<delivered@simulator.test>',
        'DATA',
        message,
        'QUIT',
      ].map((line) => `${line}\r\n`),
      answers: /^[23]\d\d /m,
    },
  ],
  'return path': [
    {
      greeting: true,
      lines: ['EHLO fair.example', 'MAIL FROM:<>', 'RCPT TO:<postmaster>', 'DATA', message, 'QUIT'].map((line) => `${line}\r\n`),
      answers: /^[23]\d\d /m,
    },
  ],
}

/** A health check, the dashboard, its page to log in, a tracking link. */
const ofStrangers: (typeof sessions)['http'] = ['/healthz', '/', '/login', '/t/c/none'].map((path) => ({
  greeting: false,
  lines: [`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`],
  answers: /^HTTP\/1.1 (?!429|503)\d{3} [^]*\r\n\r\n/,
}))

/** Resolves with the next answer that is whole. */
function answer(socket: Socket, whole: RegExp): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let text = ''
  const onData = (part: Buffer): void => {
    text += part.toString('latin1')
    if (whole.test(text)) resolve()
    else if (/^[45]\d\d /m.test(text)) reject(new Error(text))
  }
  const onEnd = (): void => reject(new Error(`ended: ${text}`))
  socket.on('data', onData).on('close', onEnd)
  return promise.finally(() => socket.off('data', onData).off('close', onEnd))
}

async function session({ greeting, lines, answers }: (typeof sessions)['http'][number]): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true }).on('error', () => {})
  const late = setTimeout(() => socket.destroy(), patienceMs)
  try {
    if (greeting) await answer(socket, answers)
    for (const line of lines) {
      const answered = answer(socket, answers)
      socket.write(line)
      await answered
    }
  } finally {
    clearTimeout(late)
    socket.destroy()
  }
}

const took: number[] = []
const failures: string[] = []

async function client(number: number): Promise<void> {
  for (let turn = number; performance.now() < deadline; turn++) {
    const since = performance.now()
    const kinds = strangers ? ofStrangers : sessions[protocol]
    await session(kinds[turn % kinds.length]!).then(
      () => took.push(performance.now() - since),
      (error: Error) => failures.push(error.message),
    )
    await pause(betweenMs)
  }
}

const deadline = performance.now() + seconds * 1000
await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
took.sort((one, other) => one - other)
const quantile = (q: number): number => took[Math.min(took.length - 1, Math.floor(took.length * q))] ?? Infinity
;(parentPort as MessagePort).postMessage({
  sessions: took.length + failures.length,
  failed: failures.length,
  firstFailure: failures[0] ?? null,
  p50: quantile(0.5),
  p99: quantile(0.99),
} satisfies FairFigures)
