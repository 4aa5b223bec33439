import type { Clock } from './clock.ts'
import { isoTime } from './iso-time.ts'
import type { Log } from './log.ts'

/** What can keep the server from taking or delivering mail, with what an operator reads about it. */
const messages = {
  disk_full: 'The disk is nearly full, so no mail is taken. What is queued is still delivered. Make room on the disk of the data directory.',
  resolver_suspect:
    'The name servers say that many domains do not exist, which is rather their own fault. Mail to these waits and does not bounce. ' +
    'Set dns.servers to a resolver that works, best one of your own on this machine.',
  queue_stalled:
    'Mail is due and nothing of it has moved for a quarter of an hour. The log says what fails; "sterna queue list" shows what waits. ' +
    'A restart takes up again what is in hand.',
}

type FaultName = keyof typeof messages

/** Something that is wrong now. */
interface Fault {
  name: FaultName
  message: string
  /** ISO 8601. */
  since: string
}

/** What is wrong with the server while it runs: whoever notices a fault reports it here, and clears it when it is over. */
export class Health {
  readonly #clock: Pick<Clock, 'now'>
  readonly #log: Log
  readonly #faults = new Map<FaultName, Fault>()

  constructor({ clock, log }: { clock: Pick<Clock, 'now'>; log: Log }) {
    this.#clock = clock
    this.#log = log
  }

  /** In the order in which they began; empty while all is well. */
  get faults(): Fault[] {
    return [...this.#faults.values()]
  }

  /** The fault is there, from now on or still. `details` go into the log. */
  report(name: FaultName, details: object = {}): void {
    if (this.#faults.has(name)) return
    const message = messages[name]
    this.#faults.set(name, { name, message, since: isoTime(this.#clock.now()) })
    this.#log.error({ fault: name, ...details }, message)
  }

  /** The fault is over, or never was. */
  clear(name: FaultName): void {
    if (this.#faults.delete(name)) this.#log.info({ fault: name }, 'the fault is over')
  }

  /** Reports the fault where it is there, else clears it. */
  set(name: FaultName, isThere: boolean, details: object = {}): void {
    if (isThere) this.report(name, details)
    else this.clear(name)
  }
}
