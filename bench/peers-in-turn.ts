import type { Load } from './burst.ts'
import type { Case } from './cases.ts'
import { hasPostfixAndOpenDkim, startPostfixPeer, type Peer } from './postfix-peer.ts'
import { pinTo } from './process-figures.ts'
import { measureRound, medians, type Round } from './round.ts'
import { startSink } from './sink.ts'
import { startSterna } from './sterna-peer.ts'

export interface InTurn {
  rounds: number
  warmUp: number
  load: Load
  /** Only Sterna. */
  alone: boolean
  /** How many of the machine's cores the servers may use; undefined: all. */
  cores: number | undefined
}

export interface PeerFigures {
  sterna: Round | null
  /** Null where Postfix cannot do it, or is not there. */
  postfix: Round | null
}

/** The medians of several rounds; in each, Postfix and Sterna start anew, one after the other. */
export async function measureInTurn(one: Case, { rounds, warmUp, load, alone, cores }: InTurn): Promise<PeerFigures> {
  const sink = await startSink('127.0.0.2', { starttls: load.starttls ?? false })
  const measure = async (peer: Peer): Promise<Round> => {
    try {
      if (cores !== undefined) pinTo(peer.pids, cores)
      if (warmUp > 0) await measureRound(peer, sink, { ...load, messages: warmUp })
      return await measureRound(peer, sink, load)
    } finally {
      await peer.stop()
    }
  }
  const [ours, theirs]: [Round[], Round[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    if (!alone && one.postfix && hasPostfixAndOpenDkim()) theirs.push(await measure(await startPostfixPeer(sink, load.starttls)))
    const server = { recipientDomains: load.recipientDomains, webhooks: one.webhooks ?? false }
    ours.push(await measure(await startSterna(sink, server)))
  }
  sink.stop()
  return { sterna: medians(ours), postfix: medians(theirs) }
}

export const figuresHeading = [
  'load',
  'server',
  'delivered/s',
  'CPU s per 1,000',
  'of the load itself',
  'memory, MB',
  'accepted, p50/p99 ms',
  'delivered, p50/p99 ms',
  'TLS resumed, in/out',
  'failed, unsigned, twice',
]

/** Two rows of a table with `figuresHeading`, or one if Postfix was not measured; the ratio is that of messages per second. */
export function figuresRows(title: string, { sterna, postfix }: PeerFigures): string[][] {
  const ratio = sterna && postfix ? `, ${(sterna.deliveredPerSecond / postfix.deliveredPerSecond).toFixed(2)} times as fast` : ''
  return [...(sterna ? [row(title, `Sterna${ratio}`, sterna)] : []), ...(postfix ? [row(title, 'Postfix with OpenDKIM', postfix)] : [])]
}

const row = (title: string, server: string, round: Round): string[] => [
  title,
  server,
  round.deliveredPerSecond.toFixed(0),
  round.cpuPerThousand.toFixed(2),
  round.loadCpuPerThousand.toFixed(2),
  round.residentMb.toFixed(0),
  `${round.acceptP50.toFixed(0)}/${round.acceptP99.toFixed(0)}`,
  `${round.endToEndP50.toFixed(0)}/${round.endToEndP99.toFixed(0)}`,
  `${percent(round.resumedIn)}/${percent(round.resumedOut)}`,
  `${round.failed}, ${round.unsigned}, ${round.duplicates}`,
]

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`
