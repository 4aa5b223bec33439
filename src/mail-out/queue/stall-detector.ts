import type { CancelTimer, Clock } from '../../platform/clock.ts'
import { standardTimeouts } from '../delivery/delivery-timeouts.ts'
import type { Health } from '../../platform/health.ts'
import { standstillAt, type QueueLook, type Standstill } from './standstill.ts'

interface QueueWatchServices {
  clock: Clock
  health: Pick<Health, 'set'>
  /** What is due and can be claimed, and what is claimed. */
  figures(): { overdueMs: number; inFlight: number }
}

const lookEveryMs = 60_000
/** Longer than any attempt takes: even mail for hosts that hang makes progress each time an attempt ends. */
const stalledAfterMs = standardTimeouts.attempt + 2 * lookEveryMs

/** Checks every minute whether the queue makes progress, and reports the fault `queue_stalled` if it does not. */
export class StallDetector {
  readonly #services: QueueWatchServices
  #last: Standstill = { at: 0, claimed: 0, ended: 0 }
  #claimed = 0
  #ended = 0
  #isPostponed = false
  #cancelTimer: CancelTimer = () => {}

  constructor(services: QueueWatchServices) {
    this.#services = services
  }

  start(): void {
    this.#last = { at: this.#services.clock.steady(), claimed: this.#claimed, ended: this.#ended }
    this.#arm()
  }

  stop(): void {
    this.#cancelTimer()
  }

  noteClaimed(recipients: number): void {
    this.#claimed += recipients
  }

  /** A claim was released. `isTried`: false if the recipient was put back untried. */
  noteSettled(isTried: boolean): void {
    if (isTried) this.#ended++
    else this.#isPostponed = true
  }

  #arm(): void {
    const { clock } = this.#services
    this.#cancelTimer = clock.at(clock.now() + lookEveryMs, () => {
      this.#look()
      this.#arm()
    })
  }

  #look(): void {
    const { clock, health, figures } = this.#services
    const { overdueMs, inFlight } = figures()
    const look: QueueLook = {
      at: clock.steady(),
      isOverdue: overdueMs > 0,
      isBusy: inFlight > 0 || this.#isPostponed,
      claimed: this.#claimed,
      ended: this.#ended,
    }
    this.#isPostponed = false
    this.#last = standstillAt(look, this.#last)
    const isStalled = look.at - this.#last.at >= stalledAfterMs
    health.set('queue_stalled', isStalled, { overdueSeconds: Math.round(overdueMs / 1000), inFlight })
  }
}
