import { createConnection } from 'node:net'
import { text } from 'node:stream/consumers'
import { sendBurst, type Load } from './burst.ts'
import { median } from './figures.ts'
import { threadNames } from './process-figures.ts'
import type { Sink } from './sink.ts'
import { startSterna, type SternaPeer } from './sterna-peer.ts'

interface ThreadAllocations {
  thread: string
  /** Null where its Node does not count them. */
  allocatedBytes: number | null
}

/** Bytes that each thread of a server has allocated on its heap since it started, by name; threads of one name together. */
export async function allocatedBytes(peer: SternaPeer): Promise<Record<string, number>> {
  const ofEach = await Promise.all(peer.probes.map((probe) => text(createConnection(probe))))
  const byThread: Record<string, number> = {}
  for (const { thread, allocatedBytes } of ofEach.flatMap((json) => JSON.parse(json) as ThreadAllocations[])) {
    const name = threadNames[thread] ?? thread
    if (allocatedBytes !== null) byThread[name] = (byThread[name] ?? 0) + allocatedBytes
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

/** How often what is sent, after what. */
interface Plan {
  warmUp: number
  messages: number
  rounds: number
  connections: number
  nodeFlags?: string[]
}

/** Bytes that each thread allocates for a message, in each round: by size of the message, and then by thread. */
export type Allocations = Record<string, Record<string, number[]>>

const sizes = { '2 KB': 2048, '50 KB': 51_200 }

/** As in production. Code that runs often enough is compiled so that it allocates less, so many messages go before those that count. */
const asInProduction: Plan = { warmUp: 3000, messages: 1000, rounds: 3, connections: 10 }

export async function measureAllocations(sink: Sink, plan: Plan): Promise<Allocations> {
  const peer = await startSterna(sink, { recipientDomains: 1, nodeFlags: plan.nodeFlags ?? [] })
  try {
    const all: Allocations = {}
    for (const [label, size] of Object.entries(sizes)) {
      const load = { size, messages: plan.messages, connections: plan.connections, perConnection: 10, recipientDomains: 1 }
      await sendBurst(peer, sink, { ...load, messages: plan.warmUp })
      const byThread: Record<string, number[]> = (all[label] = {})
      for (let round = 0; round < plan.rounds; round++) {
        for (const [thread, bytes] of Object.entries(await allocationsPerMessage(peer, sink, load))) (byThread[thread] ??= []).push(bytes)
      }
    }
    return all
  } finally {
    await peer.stop()
  }
}

/** Prints what each thread allocates for a message as it runs in production. */
export async function reportAllocations(sink: Sink): Promise<void> {
  for (const [label, byThread] of Object.entries(await measureAllocations(sink, asInProduction))) {
    console.log(`Allocated for a message of ${label}, kB: median and each of ${asInProduction.rounds} bursts of ${asInProduction.messages}`)
    for (const [thread, bytes] of Object.entries(byThread)) {
      const [middle, ...each] = [median(bytes), ...bytes].map((one) => (one / 1000).toFixed(1))
      console.log(`  ${thread.padEnd(10)} ${middle?.padStart(6)}   (${each.join(', ')})`)
    }
  }
}
