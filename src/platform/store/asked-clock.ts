import type { CancelTimer, Clock } from '../clock.ts'
import { DatabaseClock, type TimeReading } from './database-clock.ts'

/** Whoever knows the time of the database. */
interface Told {
  /** The database's time, epoch ms. */
  time(): Promise<number>
}

export interface AskedClockSettings {
  /** The clock of this machine, which decides nothing. */
  machine: Pick<Clock, 'now'>
  /** Called with each answer: how far the clock of this machine is ahead of the database's, ms. */
  onMachineClock?: ((aheadMs: number) => void) | undefined
}

export interface AskedClock {
  clock: Clock
  /** Asks no more. */
  stop(): void
}

const intervalMs = 1_000

/**
 * A clock that has the time of the database, and asks for it once a second.
 * @throws what the first question is answered with, if that is an error
 */
export async function askedClock(database: Told, { machine, onMachineClock }: AskedClockSettings): Promise<AskedClock> {
  const clock = new DatabaseClock(await ask(database))
  let cancelTimer: CancelTimer = () => {}
  let isStopped = false
  const compare = (): void => onMachineClock?.(machine.now() - clock.now())
  const arm = (): void => {
    if (isStopped) return
    cancelTimer = clock.at(clock.now() + intervalMs, () => {
      void ask(database)
        .then((reading) => {
          clock.heard(reading)
          compare()
        })
        // Without an answer the steady clock goes on.
        .catch(() => {})
        .finally(arm)
    })
  }
  compare()
  arm()
  return {
    clock,
    stop() {
      isStopped = true
      cancelTimer()
    },
  }
}

async function ask(database: Told): Promise<TimeReading> {
  const askedAt = performance.now()
  const time = await database.time()
  return { askedAt, answeredAt: performance.now(), time }
}
