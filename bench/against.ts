import { allocatedBytes } from './allocations.ts'
import { checkOut } from './checkout.ts'
import type { ComparedLoad, Figures } from './compared-load.ts'
import { median, quantile } from './figures.ts'
import { markdownTable } from './markdown-table.ts'
import { cpuByThread, residentMegabytes } from './process-figures.ts'
import { startSink, type Sink } from './sink.ts'
import { startSterna, type SternaPeer } from './sterna-peer.ts'

interface Side {
  title: string
  peer: SternaPeer
  sink: Sink
  idleMb: number
  bursts: Figures[]
}

export interface Comparison {
  commit: string
  /** Bursts of each size to each server. */
  rounds: number
  loads: ComparedLoad[]
}

/**
 * Prints the figures of a commit beside those of this checkout. Both servers are up at once and take bursts in turn, in random order,
 * for a machine is faster in one minute than in the next: the ratio is that of two bursts that follow one another.
 */
export async function compareWith({ commit, rounds, loads }: Comparison): Promise<void> {
  const checkout = checkOut(commit)
  try {
    await startOnce(checkout.directory)
    for (const load of loads) {
      const sides = [
        await startSide(checkout.title, '127.0.0.2', load, checkout.directory),
        await startSide('this checkout', '127.0.0.3', load),
      ] as const
      try {
        for (const { peer, sink } of sides) await load.warmUp(peer, sink)
        for (let round = 0; round < rounds; round++) {
          for (const side of Math.random() < 0.5 ? sides : sides.toReversed()) side.bursts.push(await burstFigures(side, load))
        }
        console.log(`\n${load.title}: ${rounds} bursts to each\n`)
        console.log(markdownTable(comparisonRows(...sides)))
      } finally {
        for (const { peer, sink } of sides) {
          await peer.stop()
          sink.stop()
        }
      }
    }
  } finally {
    checkout.remove()
  }
}

/** Compiled code is kept at the first start; a server that has to compile its own has more memory until it ends. */
async function startOnce(checkout: string): Promise<void> {
  const sink = await startSink('127.0.0.2')
  const peer = await startSterna(sink, { recipientDomains: 1, checkout })
  await peer.stop()
  sink.stop()
}

/** What a server does right after its start is over then. */
const idleMs = 5000

async function startSide(title: string, host: string, { server, starttls }: ComparedLoad, checkout?: string): Promise<Side> {
  const sink = await startSink(host, { starttls })
  const peer = await startSterna(sink, { ...server, ...(checkout !== undefined && { checkout }) })
  await new Promise((resolve) => setTimeout(resolve, idleMs))
  return { title, peer, sink, idleMb: residentMegabytes(peer.pids), bursts: [] }
}

async function burstFigures({ peer, sink }: Side, load: ComparedLoad): Promise<Figures> {
  const [pid = 0] = peer.pids
  const [allocatedBefore, cpuBefore] = [await allocatedBytes(peer), cpuByThread(pid)]
  const { messages, figures } = await load.burst(peer, sink)
  const [allocatedAfter, cpuAfter] = [await allocatedBytes(peer), cpuByThread(pid)]
  const each = (before: Figures, after: Figures, unit: number): [thread: string, figure: number][] =>
    Object.entries(after).map(([thread, value]) => [thread, ((value - (before[thread] ?? 0)) / unit / messages) * 1e6])
  const cpu = each(cpuBefore, cpuAfter, 1)
  return {
    ...figures,
    'CPU, µs a message': cpu.reduce((sum, [, used]) => sum + used, 0),
    ...Object.fromEntries(cpu.map(([thread, used]) => [`CPU of ${thread}, µs`, used])),
    ...Object.fromEntries(each(allocatedBefore, allocatedAfter, 1e9).map(([thread, kB]) => [`allocated by ${thread}, kB`, kB])),
  }
}

/** Threads that do less than this for a message, in µs or kB, only make the table longer. */
const least = 0.5

function comparisonRows(before: Side, after: Side): string[][] {
  const names = [...new Set([...before.bursts, ...after.bursts].flatMap((figures) => Object.keys(figures)))]
  const shown = names.filter((name) => !/^(CPU|allocated)/.test(name) || [before, after].some((side) => median(of(side, name)) >= least))
  return [
    ['', before.title, after.title, 'ratio', 'half of the ratios'],
    ['memory idle, MB', before.idleMb.toFixed(0), after.idleMb.toFixed(0), (after.idleMb / before.idleMb).toFixed(2), ''],
    ...shown.map((name) => {
      const ratios = of(after, name).map((value, round) => value / (of(before, name)[round] ?? 0))
      return [name, shortly(median(of(before, name))), shortly(median(of(after, name))), ...spread(ratios)]
    }),
  ]
}

const of = (side: Side, name: string): number[] => side.bursts.map((figures) => figures[name] ?? 0)
const shortly = (figure: number): string => figure.toFixed(figure < 100 ? 1 : 0)

/** The median, and the quartiles. */
function spread(ratios: number[]): [middle: string, quartiles: string] {
  const sorted = ratios.filter(Number.isFinite).toSorted((a, b) => a - b)
  if (sorted.length === 0) return ['', '']
  return [median(sorted).toFixed(2), `${quantile(sorted, 0.25).toFixed(2)} to ${quantile(sorted, 0.75).toFixed(2)}`]
}
