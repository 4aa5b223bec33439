import { setTimeout as pause } from 'node:timers/promises'
import type { FaultName } from '../../src/platform/health.ts'
import type { LedgerSink } from './ledger-sink.ts'
import { NotStarted, type Ending, type ServerUnderTest } from './server-under-test.ts'

/** A service manager waits so long before it starts a server again, ms. */
const againMs = 300
/** What was delivered so shortly before an end may not be written down, ms: a slow commit, and the ending itself. */
const doubtMs = 2_000

/** A server that is started again whenever it ends, as a service manager does. */
export class SupervisedServer {
  readonly server: ServerUnderTest
  /** How it ended, or did not start, without being asked to. */
  readonly endings: Ending[] = []
  /** How many deliveries were in doubt at its ends. */
  inDoubt = 0
  /** Since when outcomes cannot be written, as of `performance.now()`; null: they can. */
  unwritableSince: number | null = null
  readonly #sink: LedgerSink
  #isHeld = false
  #isOver = false
  #isUp = false
  readonly #running: Promise<void>

  constructor(server: ServerUnderTest, sink: LedgerSink) {
    this.server = server
    this.#sink = sink
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      if (!this.#isHeld) await this.#runOnce()
      await pause(this.#isHeld || this.#isOver ? 20 : againMs)
    }
  }

  async #runOnce(): Promise<void> {
    try {
      await this.server.start()
      this.#isUp = true
      await this.server.exited
      const doubt = this.#sink.inDoubt(doubtMs + (this.unwritableSince === null ? 0 : performance.now() - this.unwritableSince))
      const ending = await this.server.ended
      if (ending.code !== 0 || this.unwritableSince !== null) this.inDoubt += doubt
      if (!this.#isHeld && !this.#isOver) this.endings.push(ending)
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error
      if (!this.#isHeld && !this.#isOver) this.endings.push(error.ending)
    } finally {
      this.#isUp = false
    }
  }

  /** Whether its doors have opened and it has not ended since. */
  get isUp(): boolean {
    return this.#isUp && this.server.isRunning
  }

  /** Ends it, and leaves it so until `release`. */
  async hold(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#isHeld = true
    // Whatever is just being started is first let up, or a signal might come before it is listened to.
    while (this.server.isRunning && !this.#isUp) await pause(20)
    await this.server.end(signal)
    while (this.#isUp) await pause(10)
  }

  release(): void {
    this.#isHeld = false
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.hold()
    await this.#running
  }
}

/** What /healthz said over some time: `ok`, the names of faults, `no answer`. */
export class HealthSeen {
  readonly #seen = new Map<string, number>()
  readonly #ending = new AbortController()

  constructor(port: number) {
    void this.#watch(port)
  }

  async #watch(port: number): Promise<void> {
    for (const { signal } = this.#ending; !signal.aborted; await pause(50)) {
      const said = await askHealth(port, AbortSignal.any([signal, AbortSignal.timeout(5_000)]))
      if (!signal.aborted) this.#seen.set(said, (this.#seen.get(said) ?? 0) + 1)
    }
  }

  /** Begins anew. */
  forget(): void {
    this.#seen.clear()
  }

  toString(): string {
    return [...this.#seen].map(([said, times]) => `${said} ${times}`).join(', ')
  }

  /** Whether it listed this fault, once; `true`: whether it was anything but well. */
  hasTold(fault: true | FaultName): boolean {
    return [...this.#seen.keys()].some((said) => (fault === true ? said !== 'ok' : said.split('+').includes(fault)))
  }

  stop(): void {
    this.#ending.abort()
  }
}

async function askHealth(port: number, signal: AbortSignal): Promise<string> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal })
    const { faults = [] } = (await answer.json()) as { faults?: { name: string }[] }
    return faults.map(({ name }) => name).join('+') || (answer.status === 200 ? 'ok' : String(answer.status))
  } catch {
    return 'no answer'
  }
}
