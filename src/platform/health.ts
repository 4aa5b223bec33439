import type { Clock } from './clock.ts'
import { isoTime } from './iso-time.ts'
import type { Log } from './log.ts'

/**
 * Faults, most of which can keep the server from accepting or delivering mail, and what the operator should know about each. A name in braces
 * stands for one of the details.
 */
const messages = {
  disk_full:
    'The disk is nearly full, so no mail is accepted. Queued mail is still delivered. Free space on the disk of the data directory.',
  resolver_suspect:
    'The name servers say that unusually many domains do not exist, so the name servers are probably at fault. ' +
    'Mail to these domains waits and does not bounce. Set dns.servers to a working resolver, preferably your own on this machine.',
  dnssec:
    'Name servers of dns.servers have stopped validating DNSSEC, so DANE no longer protects mail: {servers}. Mail for destinations that have ' +
    'had TLSA records waits at least an hour, and then leaves as if there were no DANE. Make them validate again; sterna doctor shows whether they do.',
  smarthost_login:
    'The smarthost refuses our login. Mail waits and does not bounce. The log has its reply: ' +
    'correct delivery.smarthost_user and the password, and restart. With OAuth 2, sterna doctor says what the reply means.',
  smarthost_refuses:
    'Smarthosts refuse our login: {problem}. Mail that goes by them waits and does not bounce. Correct them with sterna smarthost change.',
  smarthost_off:
    'There are no access tokens for the smarthost, so mail waits and does not bounce. Nothing is tried again by itself: {reason} Once that is ' +
    'mended, run sterna smarthost retry.',
  smarthost_token:
    'No access token for the smarthost can be fetched now, so mail waits and does not bounce: {reason} It is tried again by itself.',
  queue_stalled:
    'Mail is due, but none has moved for a quarter of an hour. The log says what fails; "sterna queue list" shows the waiting mail. ' +
    'A restart retries what is in hand.',
  writing:
    'Nothing can be written to the database, so no mail is accepted. Check the disk and the log for the cause: a full or failing disk, or ' +
    'another program that holds the database locked. The server continues by itself once that is over.',
  database_gone:
    'A file of the database was removed or replaced while the server has it open, so no mail is accepted: it would be lost at the next ' +
    'stop. Queued mail is still delivered. Run sterna backup FILE --with-key now, stop the server, and run sterna restore FILE --force.',
  damaged: '{problem} What needs it waits or fails, and is tried again; everything else goes on.',
  damaged_writing: '{problem} New rows cannot be written there, so mail is refused, and clients try again.',
  key_file:
    'The secret key file is missing, was replaced or has lost a key. The server continues with the keys in memory, but may not start again. ' +
    'Restore the file. sterna doctor says whether the current file is the right one.',
  key_waiting:
    'The secret key file {path} has a new key, which is not used before all nodes have it. It is missing at: {nodes}. Copy the file to them; ' +
    'they read it by themselves. Mail is not affected.',
  sealed_secrets:
    'Some stored secrets cannot be decrypted with the secret key file, so mail of some domains is not signed. Restore the key file that ' +
    'encrypted them, or create new ones: POST /api/domains/ID/dkim/rotate. sterna doctor counts them.',
  restored:
    'This database is a backup of {copiedAt}: what happened since then may be missing. The mail that was queued in it may have been sent ' +
    'since, so it is held (recipients at the start: {recipients}); new mail is sent as usual. Run sterna queue release --restored to send ' +
    'it, or sterna queue cancel --restored to send none of it.',
  moved:
    'The files of this data directory are not those that the server last ran with, at {copiedAt}: it was copied or moved. Another server may ' +
    'have sent the mail that was queued in it, so it is held (recipients at the start: {recipients}); new mail is sent as usual. If no ' +
    'other server has run with this data since, run sterna queue release --restored to send it. Otherwise run sterna queue cancel ' +
    '--restored on all servers but one.',
  outage:
    'Nothing was recorded from {from} to {to}: the server was off or asleep, its clock was set forward, or no mail was due. Mail whose time ' +
    'ran out meanwhile is tried for an hour after the first mail host answers, and only then given up. If the clock is wrong, correct it.',
  clock:
    "The clock of this machine is {seconds} seconds {direction} the database's. Mail is not affected: all times in the database are by its " +
    'own clock. But the times in the log are wrong, and certificates may be taken for expired. Correct the clock; a time service keeps it right.',
  backup:
    'The last scheduled backup failed, or the newest one is too old. Mail is not affected. The log has the cause; run sterna backup to see ' +
    'whether the target works again.',
  certificate:
    'There is no new certificate for {name}: {problem}. {advice} Sterna keeps trying. Until then clients get the one before, or a ' +
    'self-signed one, which many refuse.',
  copy:
    'The continuous copy of the database does not go on: what is accepted now is only on this machine. Mail is not affected. The log has ' +
    'the cause: the target cannot be reached or is full, is not the one from before, or lacks a part that is being stored again, or another ' +
    'server copies to it.',
}

/** Faults that do not keep mail from being accepted or delivered. */
const harmless: ReadonlySet<FaultName> = new Set<FaultName>([
  'backup',
  'certificate',
  'clock',
  'copy',
  'damaged',
  'dnssec',
  'key_waiting',
  'moved',
  'outage',
  'restored',
])

export type FaultName = keyof typeof messages

/** Whether mail is accepted and delivered in spite of a fault with this name, which a node with a newer program may have told. */
export const isHarmless = (name: string): boolean => harmless.has(name as FaultName)

/** The names of all faults. */
export const faultNames = Object.keys(messages) as FaultName[]

/** A present fault. */
interface Fault {
  name: FaultName
  message: string
  /** ISO 8601. */
  since: string
}

/** The faults of the running server. Whoever notices a fault reports it here, and clears it when it is over. */
export class Health {
  readonly #clock: Pick<Clock, 'now'>
  readonly #log: Log
  readonly #faults = new Map<FaultName, Fault>()
  /** Called when a fault has begun or is over. */
  onChange: () => void = () => {}

  constructor({ clock, log }: { clock: Pick<Clock, 'now'>; log: Log }) {
    this.#clock = clock
    this.#log = log
  }

  /** In the order in which they began; empty if there are none. */
  get faults(): Fault[] {
    return [...this.#faults.values()]
  }

  /** Whether mail is accepted and delivered: every present fault is harmless. */
  get isServing(): boolean {
    return this.faults.every(({ name }) => isHarmless(name))
  }

  /** Reports a fault, new or continuing. `details` go into the log, and into the message where it names them. */
  report(name: FaultName, details: Record<string, unknown> = {}): void {
    if (this.#faults.has(name)) return
    const message = messages[name].replace(/\{(\w+)\}/g, (_, detail: string) => String(details[detail]))
    this.#faults.set(name, { name, message, since: isoTime(this.#clock.now()) })
    this.#log.error({ fault: name, ...details }, message)
    this.onChange()
  }

  /** Whether the fault is present. */
  has(name: FaultName): boolean {
    return this.#faults.has(name)
  }

  /** Clears a fault, if there is one. */
  clear(name: FaultName): void {
    if (!this.#faults.delete(name)) return
    this.#log.info({ fault: name }, 'the fault is over')
    this.onChange()
  }

  /** Reports the fault if it is present, else clears it. */
  set(name: FaultName, isThere: boolean, details: Record<string, unknown> = {}): void {
    if (isThere) this.report(name, details)
    else this.clear(name)
  }
}
