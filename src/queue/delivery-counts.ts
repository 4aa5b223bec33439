import { LRUCache } from 'lru-cache'
import type { Attempt } from '../delivery/attempt.ts'
import { mxProviderOf } from '../delivery/mx-provider.ts'
import { simulatorDomain } from '../delivery/simulator.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { QueuedMessage, QueuedRecipient } from './queue-store.ts'
import type { Result } from './settle.ts'

type Provider = keyof Metrics['deliveryDelay']

/** MX hosts whose provider is remembered: to find it takes longer than all else here. */
const mostRemembered = 2_000

/** Counts what the attempts came to. Nothing here makes a text: a message costs some additions. */
export class DeliveryCounts {
  readonly #metrics: Metrics
  readonly #providers = new LRUCache<string, Provider>({ max: mostRemembered })

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /** An attempt whose outcome is written. Those of the simulator are no delays of anybody. */
  attempted({ createdAt }: QueuedMessage, { attempts }: QueuedRecipient, { outcome, mxHost, startedAt, durationMs }: Attempt): void {
    const metrics = this.#metrics
    const provider = mxHost === null ? 'other' : this.#providerOf(mxHost)
    metrics.attempts[outcome.type][provider].add()
    if (outcome.type !== 'delivered') metrics.failures[outcome.type][outcome.category].add()
    if (provider === 'simulator') return
    // The clock may have been set back since.
    if (attempts === 0) metrics.firstAttemptDelay.observe(Math.max(0, startedAt - createdAt) / 1000)
    if (mxHost !== null) metrics.attemptDuration.observe(durationMs / 1000)
    if (outcome.type === 'delivered') metrics.deliveryDelay[provider].observe(Math.max(0, startedAt + durationMs - createdAt) / 1000)
  }

  /** A recipient that is final. */
  ended(result: Result): void {
    this.#metrics.settled[result].add()
  }

  #providerOf(mxHost: string): Provider {
    let provider = this.#providers.get(mxHost)
    if (!provider) {
      const known = mxHost === simulatorDomain ? 'simulator' : mxProviderOf(mxHost)
      provider = known in this.#metrics.deliveryDelay ? (known as Provider) : 'other'
      this.#providers.set(mxHost, provider)
    }
    return provider
  }
}
