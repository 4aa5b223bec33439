import { multiply, submitPattern } from './backlog.ts'
import { startSink, type Sink } from './sink.ts'
import { startSterna, type SternaPeer } from './sterna-peer.ts'

/** Single mails of one account, while many of another wait. */
export interface FairnessFigures {
  beside: string
  /** From the request to the arrival. */
  p50Ms: number
  p95Ms: number
  p99Ms: number
  /** Of urgent ones, sent between them. */
  urgentP95Ms: number
  urgentP99Ms: number
  arrived: number
}

const delayMs = 50
const singles = 50
const everyMs = 200
/** How long the last may take. */
const patienceMs = 60_000

/** What single mails take alone, and beside so many of another account for the same destination and for another, each taking 50 ms a message. */
export async function measureFairness(backlogs: readonly number[]): Promise<FairnessFigures[]> {
  const sink = await startSink('127.0.0.2', { delayMs })
  const another = await startSink('127.0.0.3', { delayMs, port: sink.port })
  const zone = { 'another.example': { a: [another.host], ttl: 3600 } }
  const cases = backlogs.flatMap((waiting) => [
    { beside: `${waiting} for the same destination`, waiting, to: 'u@rcpt0.example' },
    { beside: `${waiting} for another destination`, waiting, to: 'u@another.example' },
  ])
  const figures: FairnessFigures[] = []
  try {
    for (const { beside, waiting, to } of [{ beside: 'nothing', waiting: 0, to: '' }, ...cases]) {
      const peer = await startSterna(sink, { recipientDomains: 1, zone, others: ['shop'], settings: { QUOTAS_URGENT_PER_MINUTE: '1000' } })
      try {
        if (waiting > 0) {
          const pattern = await submitPattern(peer, to)
          await peer.restart((file) => multiply(file, pattern, waiting))
        }
        figures.push({ beside, ...(await sendSingles(peer, sink)) })
      } finally {
        await peer.stop()
      }
    }
  } finally {
    sink.stop()
    another.stop()
  }
  return figures
}

/** First usual ones, then urgent ones. */
async function sendSingles(peer: SternaPeer, sink: Sink): Promise<Omit<FairnessFigures, 'beside'>> {
  const usual = await sendKind(peer, sink, 'normal')
  const urgent = await sendKind(peer, sink, 'high')
  return {
    p50Ms: usual.p50Ms,
    p95Ms: usual.p95Ms,
    p99Ms: usual.p99Ms,
    urgentP95Ms: urgent.p95Ms,
    urgentP99Ms: urgent.p99Ms,
    arrived: usual.delivered + urgent.delivered,
  }
}

async function sendKind(peer: SternaPeer, sink: Sink, priority: 'normal' | 'high') {
  const received = sink.receive({ messages: singles, seconds: (singles * everyMs + patienceMs) / 1000 })
  for (let i = 0; i < singles; i++) {
    await send(peer, i, priority)
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
  return received
}

async function send({ httpPort, tokens }: SternaPeer, number: number, priority: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${httpPort}/api/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens['shop']}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      from: 'code@shop.example',
      to: 'u@rcpt0.example',
      subject: 'Your code',
      text: 'It is 123456.',
      headers: { 'X-Bench': `${number} ${Date.now()}` },
      ...(priority === 'high' && { priority }),
    }),
  })
  if (!response.ok) throw new Error(`a single email was refused: ${await response.text()}`)
}

export const fairnessHeading = ['single mails beside', 'p50, ms', 'p95', 'p99', 'urgent p95', 'urgent p99', 'arrived']

export const fairnessRows = (all: readonly FairnessFigures[]): string[][] =>
  all.map(({ beside, arrived, ...ms }) => [
    beside,
    ...[ms.p50Ms, ms.p95Ms, ms.p99Ms, ms.urgentP95Ms, ms.urgentP99Ms].map((each) => each.toFixed(0)),
    String(arrived),
  ])
