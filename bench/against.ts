import { checkOut } from './checkout.ts'
import type { ComparedLoad } from './compared-load.ts'
import { startSink } from './sink.ts'
import { startSterna } from './sterna-peer.ts'
import { compareSides } from './two-sides.ts'

export interface Comparison {
  commit: string
  /** Bursts of each size to each server. */
  rounds: number
  loads: ComparedLoad[]
}

/** Prints the figures of a commit beside those of this checkout. */
export async function compareWith({ commit, rounds, loads }: Comparison): Promise<void> {
  const { directory: checkout, title, remove } = checkOut(commit)
  try {
    await startOnce(checkout)
    for (const load of loads) {
      await compareSides(
        [
          { title, server: { checkout } },
          { title: 'this checkout', server: {} },
        ],
        load,
        rounds,
      )
    }
  } finally {
    remove()
  }
}

/** Compiled code is kept at the first start; a server that has to compile its own has more memory until it ends. */
async function startOnce(checkout: string): Promise<void> {
  const sink = await startSink('127.0.0.2')
  const peer = await startSterna(sink, { recipientDomains: 1, checkout })
  await peer.stop()
  sink.stop()
}
