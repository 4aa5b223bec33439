import { lastUsed } from '../../platform/last-used.ts'
import type { Attempt } from '../delivery/attempt.ts'
import { mxProviderOf } from '../delivery/mx-provider.ts'
import { simulatorDomain } from '../delivery/simulator.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import type { QueuedMessage, QueuedRecipient } from './queue-store.ts'
import type { Result } from './settle.ts'

type Provider = keyof Metrics['deliveryDelay']

/** How many MX hosts' providers are remembered: finding a provider takes longer than everything else here. */
const maxRemembered = 2_000

/** Counts the outcomes of attempts. Nothing here builds strings: a message costs a few additions. */
export class DeliveryCounts {
  readonly #metrics: Metrics
  readonly #providers = lastUsed<Provider>(maxRemembered)

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /** An attempt whose outcome is written. The simulator's attempts do not count in any delay. `endedAt`: epoch, ms. */
  attempted({ firstDueAt }: QueuedMessage, { attempts }: QueuedRecipient, attempt: Attempt, endedAt: number): void {
    const { outcome, mxHost, transport, durationMs } = attempt
    const metrics = this.#metrics
    const provider = mxHost === null ? 'other' : this.#providerOf(mxHost)
    metrics.attempts[outcome.type][provider].add()
    if (outcome.type !== 'delivered') metrics.failures[outcome.type][outcome.category].add()
    if (provider === 'simulator') return
    if (outcome.type === 'delivered' && transport !== null) metrics.transported[transport].add()
    // The clock may have been set back in the meantime.
    if (attempts === 0) metrics.firstAttemptDelay.observe(Math.max(0, endedAt - durationMs - firstDueAt) / 1000)
    if (mxHost !== null) metrics.attemptDuration.observe(durationMs / 1000)
    if (outcome.type === 'delivered') metrics.deliveryDelay[provider].observe(Math.max(0, endedAt - firstDueAt) / 1000)
  }

  /** A recipient in a final state. */
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
