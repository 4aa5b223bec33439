import { createConnection } from 'node:net'
import { text } from 'node:stream/consumers'
import { sendBurst, type Load } from './burst.ts'
import { median } from './figures.ts'
import type { Sink } from './sink.ts'
import { startSterna, type SternaPeer } from './sterna-peer.ts'

interface ThreadAllocations {
  thread: string
  /** Null where its Node does not count them. */
  allocatedBytes: number | null
}

/** Bytes that each thread of a server has allocated on its heap since it started, by name; threads of one name together. */
export async function allocatedBytes(peer: SternaPeer): Promise<Record<string, number>> {
  const all = JSON.parse(await text(createConnection(peer.probe))) as ThreadAllocations[]
  const byThread: Record<string, number> = {}
  for (const { thread, allocatedBytes } of all) {
    if (allocatedBytes !== null) byThread[thread || 'unnamed'] = (byThread[thread || 'unnamed'] ?? 0) + allocatedBytes
  }
  return byThread
}

/** Bytes that each thread allocates for a message. */
export async function allocationsPerMessage(peer: SternaPeer, sink: Sink, load: Load): Promise<Record<string, number>> {
  const before = await allocatedBytes(peer)
  await sendBurst(peer, sink, load)
  const after = await allocatedBytes(peer)
  return Object.fromEntries(Object.entries(after).map(([thread, bytes]) => [thread, (bytes - (before[thread] ?? 0)) / load.messages]))
}

/** A message of each size; code that runs often enough is compiled so that it allocates less, so many are sent before. */
const bursts = [
  { label: '2 KB', size: 2048, messages: 1000, warmUp: 4000 },
  { label: '50 KB', size: 51_200, messages: 500, warmUp: 1000 },
]
const rounds = 3

/** Starts a server, and prints what each of its threads allocates for a message, in kB: the median of three bursts, and all three. */
export async function reportAllocations(sink: Sink): Promise<void> {
  const peer = await startSterna(sink, { recipientDomains: 1 })
  try {
    for (const { label, size, messages, warmUp } of bursts) {
      const load = { size, messages, connections: 10, perConnection: 10, recipientDomains: 1 }
      await sendBurst(peer, sink, { ...load, messages: warmUp })
      const all: Record<string, number>[] = []
      for (let round = 0; round < rounds; round++) all.push(await allocationsPerMessage(peer, sink, load))
      console.log(`Allocated for a message of ${label}, kB: median of ${rounds} bursts of ${messages}`)
      for (const thread of Object.keys(all[0] ?? {})) {
        const kilobytes = all.map((each) => (each[thread] ?? 0) / 1000)
        console.log(
          `  ${thread.padEnd(10)} ${median(kilobytes).toFixed(1).padStart(6)}   (${kilobytes.map((one) => one.toFixed(1)).join(', ')})`,
        )
      }
    }
  } finally {
    peer.stop()
    sink.stop()
  }
}
