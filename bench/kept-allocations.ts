import { readFileSync, writeFileSync } from 'node:fs'
import { measureAllocations } from './allocations.ts'
import type { Sink } from './sink.ts'

/** Bytes that each thread may allocate for a message: by size of the message, and then by thread. */
export type KeptAllocations = Record<string, Record<string, number>>

const file = new URL('allocations.json', import.meta.url)

/**
 * Without optimized code, which allocates about a fifth less, but depends on what was compiled when. Work that is due each minute adds
 * to some bursts only, so the least of them counts.
 */
const repeatable = { warmUp: 300, messages: 300, rounds: 6, connections: 10, nodeFlags: ['--no-maglev', '--no-turbofan'] }

/** Of a figure. Runs differ by 2 % at most, beside two busy loops as well; where the machine has more to do, larger batches allocate less. */
const tolerance = { more: 0.03, less: 0.1 }
/** The store's thread allocates by the commit, and how many messages share one depends on what else the machine does. */
const toleranceOfStore = { more: 0.3, less: 0.3 }

/** Threads that have to do with a message allocate more than this for it. */
const leastBytes = 2000

export async function keepAllocations(sink: Sink): Promise<void> {
  writeFileSync(file, `${JSON.stringify(await leastAllocations(sink), null, 2)}\n`)
  console.log(`Written to ${file.pathname}.`)
}

/** Prints what differs from the figures that are kept, and tells whether nothing does. */
export async function checkAllocations(sink: Sink): Promise<boolean> {
  const kept = JSON.parse(readFileSync(file, 'utf8')) as KeptAllocations
  const lines = differences(kept, await leastAllocations(sink))
  for (const line of lines) console.log(line)
  return lines.length === 0
}

async function leastAllocations(sink: Sink): Promise<KeptAllocations> {
  const least: KeptAllocations = {}
  for (const [label, byThread] of Object.entries(await measureAllocations(sink, repeatable))) {
    // A thread that began or ended meanwhile has less of them, and has nothing to do with each message.
    const throughout = Object.entries(byThread).filter(([, bytes]) => bytes.length === repeatable.rounds)
    const threads = throughout.map(([thread, bytes]) => [thread, Math.round(Math.min(...bytes))] as const)
    least[label] = Object.fromEntries(threads.filter(([, bytes]) => bytes > leastBytes))
  }
  return least
}

/** One line for each figure that differs, whatever the direction: a figure that fell must be kept, or it could grow again unseen. */
export function differences(kept: KeptAllocations, now: KeptAllocations): string[] {
  const labels = Object.keys({ ...kept, ...now })
  return labels.flatMap((label) =>
    Object.keys({ ...kept[label], ...now[label] }).flatMap((thread) => {
      const [before, after] = [kept[label]?.[thread] ?? 0, now[label]?.[thread] ?? 0]
      const { more, less } = thread === 'writer' ? toleranceOfStore : tolerance
      if (after <= before * (1 + more) && after >= before * (1 - less)) return []
      return [`${label}, ${thread}: ${after} bytes a message, kept are ${before}. ${after > before ? advice.more : advice.less}`]
    }),
  )
}

const advice = {
  more:
    'Each message costs more than before. Find what allocates with "node --heap-prof", and do it once a connection, once a batch or ' +
    'only when needed. Figures may only fall.',
  less: 'That is better: keep it with "npm run bench -- --allocations --keep", and commit bench/allocations.json.',
}
