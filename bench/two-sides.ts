import { allocatedBytes } from './allocations.ts'
import type { ComparedLoad, Figures } from './compared-load.ts'
import { median, quantile } from './figures.ts'
import { markdownTable } from './markdown-table.ts'
import { cpuByThread, cpuSeconds, residentMegabytes } from './process-figures.ts'
import { startSink, type Sink } from './sink.ts'
import { startSterna, type SternaOptions, type SternaPeer } from './sterna-peer.ts'

/** One of two servers that take the same load. */
export interface SideOptions {
  title: string
  /** Besides what the load asks for. */
  server: Partial<SternaOptions>
}

interface Side {
  title: string
  peer: SternaPeer
  sink: Sink
  idleMb: number
  bursts: Figures[]
}

/**
 * Prints the figures of two servers. Both are up at once and take bursts in turn, in random order, for a machine is faster in one minute than in
 * the next: the ratio is that of two bursts that follow one another.
 * @param rounds bursts to each
 */
export async function compareSides(
  [first, second]: readonly [SideOptions, SideOptions],
  load: ComparedLoad,
  rounds: number,
): Promise<void> {
  const sides = [await startSide('127.0.0.2', first, load), await startSide('127.0.0.3', second, load)] as const
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

/** What a server does right after its start is over then. */
const idleMs = 5000

async function startSide(host: string, { title, server }: SideOptions, load: ComparedLoad): Promise<Side> {
  const sink = await startSink(host, load.sink)
  const peer = await startSterna(sink, { ...load.server, ...server })
  await new Promise((resolve) => setTimeout(resolve, idleMs))
  return { title, peer, sink, idleMb: residentMegabytes(peer.pids), bursts: [] }
}

async function burstFigures({ peer, sink }: Side, load: ComparedLoad): Promise<Figures> {
  const ofPostgres = (): number => (peer.postgresPid === null ? 0 : cpuSeconds([peer.postgresPid]))
  const [allocatedBefore, cpuBefore, postgresBefore] = [await allocatedBytes(peer), cpuByThread(peer.pids), ofPostgres()]
  const { messages, figures } = await load.burst(peer, sink)
  const [allocatedAfter, cpuAfter, postgresAfter] = [await allocatedBytes(peer), cpuByThread(peer.pids), ofPostgres()]
  const each = (before: Figures, after: Figures, unit: number): [thread: string, figure: number][] =>
    Object.entries(after).map(([thread, value]) => [thread, ((value - (before[thread] ?? 0)) / unit / messages) * 1e6])
  const cpu = each(cpuBefore, cpuAfter, 1)
  return {
    ...figures,
    'CPU, µs a message': cpu.reduce((sum, [, used]) => sum + used, 0),
    'CPU of PostgreSQL (beside that), µs': ((postgresAfter - postgresBefore) / messages) * 1e6,
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
