import type { Clock } from './clock.ts'
import { isoTime } from './iso-time.ts'
import type { Log } from './log.ts'

/** What can keep the server from taking or delivering mail, with what an operator reads about it. */
const messages = {
  disk_full:
    'The disk is nearly full, so no mail is taken. What is queued is still delivered. Make room on the disk of the data directory.',
  resolver_suspect:
    'The name servers say that many domains do not exist, which is rather their own fault. Mail to these waits and does not bounce. ' +
    'Set dns.servers to a resolver that works, best one of your own on this machine.',
  smarthost_login:
    'The smarthost does not take our mail, because of the login. Mail waits and does not bounce for it. The log says what it answered: ' +
    'correct delivery.smarthost_user and the password, and restart.',
  queue_stalled:
    'Mail is due and nothing of it has moved for a quarter of an hour. The log says what fails; "sterna queue list" shows what waits. ' +
    'A restart takes up again what is in hand.',
  writing:
    'Nothing can be written to the database, so no mail is taken. What the disk and the log say tells why: a full or failing disk, or ' +
    'another program that holds the database locked. It goes on by itself once that is over.',
  database_gone:
    'A file of the database was removed or replaced while the server has it open, so no mail is taken: it would be lost with the next ' +
    'stop. What is queued is still delivered. Run sterna backup FILE --with-key now, stop the server, and run sterna restore FILE --force.',
  key_file:
    'The secret key file is gone or has become another one. The server goes on with the key that it has read, but will not start again: ' +
    'bring the file back. sterna doctor says whether the one that is there is the right one.',
  sealed_secrets:
    'Some stored secrets do not open with the secret key file, so mail of some domains is not signed. Bring back the key file that they ' +
    'were sealed with, or make new ones: POST /api/domains/ID/dkim/rotate. sterna doctor counts them.',
}

export type FaultName = keyof typeof messages
/** All that there are. */
export const faultNames = Object.keys(messages) as FaultName[]

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

  /** Whether the fault is there. */
  has(name: FaultName): boolean {
    return this.#faults.has(name)
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
