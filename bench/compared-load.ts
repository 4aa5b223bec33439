import type { Load } from './burst.ts'
import { sendHttp } from './http-accept.ts'
import { measureRound } from './round.ts'
import type { Sink, SinkOptions } from './sink.ts'
import type { SternaOptions, SternaPeer } from './sterna-peer.ts'

/** What one burst showed, by the name of the figure. */
export type Figures = Record<string, number>

/** A load that two servers take in turn. */
export interface ComparedLoad {
  title: string
  server: SternaOptions
  /** The next hop. */
  sink: SinkOptions
  /** What is sent before the bursts that count. */
  warmUp(peer: SternaPeer, sink: Sink): Promise<unknown>
  /** Sends a burst: of how many messages, and what it showed of itself. */
  burst(peer: SternaPeer, sink: Sink): Promise<{ messages: number; figures: Figures }>
}

export interface SmtpBursts {
  load: Load
  warmUp: number
  server: SternaOptions
  /** How long the next hop takes to answer the end of a message; default: no time. */
  delayMs?: number
}

export const smtpLoad = (title: string, { load, warmUp, server, delayMs = 0 }: SmtpBursts): ComparedLoad => ({
  title: `${title}, ${load.messages} messages a burst, after ${warmUp}`,
  server,
  sink: { starttls: load.starttls ?? false, delayMs },
  warmUp: (peer, sink) => measureRound(peer, sink, { ...load, messages: warmUp }),
  async burst(peer, sink) {
    const round = await measureRound(peer, sink, load)
    const figures = {
      'delivered/s': round.deliveredPerSecond,
      'memory under load, MB': round.residentMb,
      'accepted to delivered, p50 ms': round.endToEndP50,
      'failed, unsigned or twice': round.failed + round.unsigned + round.duplicates,
      "CPU of generator and next hop, µs (the load's own)": round.loadCpuPerThousand * 1000,
    }
    return { messages: load.messages, figures }
  },
})

/** Nothing is delivered meanwhile. */
export const httpLoad = (title: string, seconds: number): ComparedLoad => ({
  title: `${title}, ${seconds} s a burst`,
  server: { recipientDomains: 1 },
  sink: {},
  warmUp: (peer) => sendHttp(peer, seconds * 3),
  async burst(peer) {
    const { accepted, perSecond, p50Ms, p99Ms, failed } = await sendHttp(peer, seconds)
    return { messages: accepted, figures: { 'accepted/s': perSecond, 'p50 ms': p50Ms, 'p99 ms': p99Ms, failed } }
  },
})
