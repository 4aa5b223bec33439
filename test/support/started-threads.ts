import type { Worker } from 'node:worker_threads'
import { onTestFinished } from 'vitest'

/** The threads that are started from now on, while the test runs. */
export function startedThreads(): Worker[] {
  const threads: Worker[] = []
  const note = (thread: Worker): unknown => threads.push(thread)
  process.on('worker', note)
  onTestFinished(() => void process.off('worker', note))
  return threads
}
