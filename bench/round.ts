import { sendBurst, type Load } from './burst.ts'
import { median } from './figures.ts'
import type { Peer } from './postfix-peer.ts'
import { cpuSeconds, residentMegabytes } from './process-figures.ts'
import type { Sink } from './sink.ts'

/** What one burst showed. Times are in ms. */
export interface Round {
  deliveredPerSecond: number
  /** Seconds, of the server alone. */
  cpuPerThousand: number
  /** Seconds, of generator and next hop together: the same machine does their work. */
  loadCpuPerThousand: number
  /** Most of it at a time. */
  residentMb: number
  acceptP50: number
  acceptP99: number
  endToEndP50: number
  endToEndP99: number
  /** Of the TLS handshakes, in and out; 0 where there was none. */
  resumedIn: number
  resumedOut: number
  duplicates: number
  unsigned: number
  failed: number
}

/** What a server still writes when the last message has been delivered belongs to it. */
const settleMs = 200

export async function measureRound(peer: Peer, sink: Sink, load: Load): Promise<Round> {
  let peak = 0
  const sampler = setInterval(() => (peak = Math.max(peak, residentMegabytes(peer.pids))), 100)
  const before = cpuSeconds(peer.pids)
  const { sent, received } = await sendBurst(peer, sink, load).finally(() => clearInterval(sampler))
  await new Promise((resolve) => setTimeout(resolve, settleMs))
  const used = cpuSeconds(peer.pids) - before
  return {
    deliveredPerSecond: received.delivered / ((received.lastAt - sent.startedAt) / 1000),
    cpuPerThousand: (used / received.delivered) * 1000,
    loadCpuPerThousand: ((sent.cpuSeconds + received.cpuSeconds) / received.delivered) * 1000,
    residentMb: peak,
    acceptP50: sent.p50Ms,
    acceptP99: sent.p99Ms,
    endToEndP50: received.p50Ms,
    endToEndP99: received.p99Ms,
    resumedIn: sent.handshakes && sent.resumed / sent.handshakes,
    resumedOut: received.handshakes && received.resumed / received.handshakes,
    duplicates: received.duplicates,
    unsigned: received.delivered - received.signed,
    failed: load.messages - received.delivered + sent.failed,
  }
}

/** Each figure is the median of its own; null if there was no round. */
export function medians(all: readonly Round[]): Round | null {
  const [first] = all
  if (!first) return null
  const names = Object.keys(first) as (keyof Round)[]
  return Object.fromEntries(names.map((name) => [name, median(all.map((round) => round[name]))])) as unknown as Round
}
