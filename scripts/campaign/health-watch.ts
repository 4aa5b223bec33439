import { Worker } from 'node:worker_threads'

/** How long the server took for the easiest question there is, ms. */
export interface HealthFigures {
  answers: number
  median: number
  worst: number
}

/** Asks for /healthz every few ms, from a thread of its own so that what the campaign does is not in the figures. */
export class HealthWatch {
  readonly #worker: Worker

  constructor(port: number) {
    this.#worker = new Worker(new URL('./health-watch-thread.ts', import.meta.url), { workerData: { port } })
  }

  /** What was seen since the last time. Rejects where the server has not answered. */
  async figures(): Promise<HealthFigures> {
    const { promise, resolve, reject } = Promise.withResolvers<HealthFigures>()
    this.#worker.once('message', resolve).once('error', reject)
    this.#worker.postMessage('figures')
    return promise.finally(() => this.#worker.off('error', reject))
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}
