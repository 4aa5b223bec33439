import type { BaseServices } from '../platform/base-services.ts'
import type { Config } from '../platform/config/settings.ts'
import type { DnsResolver } from '../platform/dns/dns-resolver.ts'
import { reportNode } from '../platform/store/node-rows.ts'
import type { Nodes } from '../platform/store/nodes.ts'
import { addressesOfMachine } from './doctor/own-addresses.ts'

interface ReporterServices extends Pick<BaseServices, 'db' | 'clock' | 'log' | 'health'> {
  config: Config
  resolver: Pick<DnsResolver, 'a' | 'aaaa'>
  nodes: Pick<Nodes, 'self'>
}

/** Tells the other nodes the addresses and faults of this one, when a fault begins or is over, and whenever it is asked to. */
export class NodeReporter {
  readonly #services: ReporterServices
  #reporting: Promise<void> = Promise.resolve()
  /** A report that has yet to begin, and will say how it is then. */
  #next: Promise<void> | null = null

  constructor(services: ReporterServices) {
    this.#services = services
  }

  start(): void {
    this.#services.health.onChange = () => void this.report()
    void this.report()
  }

  /** Never rejects. */
  report(): Promise<void> {
    this.#next ??= this.#reporting.then(() => {
      this.#next = null
      return (this.#reporting = this.#write())
    })
    return this.#next
  }

  async stop(): Promise<void> {
    this.#services.health.onChange = () => {}
    await this.#next
    await this.#reporting
  }

  async #write(): Promise<void> {
    const { config, db, clock, log, health, nodes } = this.#services
    try {
      // In sandbox mode no mail leaves, and nothing is looked up.
      const addresses = config.mode === 'sandbox' ? [] : await addressesOfMachine(this.#services)
      await db.write([reportNode(nodes.self, { addresses, faults: health.faults }, clock.now())], { mayBatch: true })
    } catch (error) {
      log.debug({ error }, 'this node could not tell the others of itself, and does so in a minute')
    }
  }
}
