import { cpSync, mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startFakeDns, type FakeDns, type FakeRecords } from '../../test/support/fake-dns.ts'
import { rowsIn } from './database-rows.ts'
import type { Fault } from './fault.ts'
import { FileShim } from './file-shim.ts'
import { startLedgerSink, type LedgerSink } from './ledger-sink.ts'
import { startMixedLoad, type Ledger } from './mixed-load.ts'
import type { ServerUnderTest } from './server-under-test.ts'
import { HealthSeen, SupervisedServer } from './supervised-server.ts'

/** What the stages of all faults begin with. */
export interface StageBase {
  /** A server whose settings the others have. */
  prepared: ServerUnderTest
  /** Its data directory. */
  data: string
  /** Where stages have their files. */
  work: string
  /** The compiled file shim. */
  library: string
  random(): number
}

const rcptDomains = 5
/** How long a fault lasts at least, ms. */
const lastsMs = 3_000
/** The longest that anything may take, s: generous, for busy machines. */
const patienceSeconds = 60

/** The right answers. Nothing is kept of them, so that they can change. */
export const zone = (): Record<string, FakeRecords> => ({
  ...Object.fromEntries(Array.from({ length: rcptDomains }, (_, i) => [`rcpt${i}.example`, { mx: [[10, 'sink.example']] }])),
  'sink.example': { a: ['127.0.0.2'] },
})

/** A server under load that is started again whenever it ends, and everything around it that may go wrong. */
export class Stage {
  readonly directory: string
  readonly server: ServerUnderTest
  readonly supervised: SupervisedServer
  readonly shim: FileShim
  readonly dns: FakeDns
  readonly sink: LedgerSink
  readonly ledger: Ledger
  readonly health: HealthSeen
  readonly random: () => number
  /** What was waited for in vain. */
  readonly problems: string[] = []
  readonly #stopLoad: () => Promise<void>
  readonly #isTold: Fault['isTold']

  private constructor(fault: Fault, server: ServerUnderTest, around: Pick<Stage, 'directory' | 'shim' | 'dns' | 'sink' | 'random'>) {
    this.directory = around.directory
    this.server = server
    this.shim = around.shim
    this.dns = around.dns
    this.sink = around.sink
    this.random = around.random
    this.supervised = new SupervisedServer(server, around.sink)
    const { ledger, stop } = startMixedLoad(server, { smtpClients: 2, httpClients: 2, size: 2_000 })
    this.ledger = ledger
    this.#stopLoad = stop
    this.health = new HealthSeen(server.httpPort)
    this.#isTold = fault.isTold
  }

  static async open(fault: Fault, { prepared, data, work, library, random }: StageBase): Promise<Stage> {
    // Short, since the control socket's path has at most 103 bytes.
    const place = mkdtempSync(join(work, `${fault.name.replaceAll(/[^a-z0-9]+/gi, '-').slice(0, 24)}-`))
    const [root, directory] = [join(place, 'server'), join(place, 'server/data')]
    mkdirSync(root)
    cpSync(data, directory, { recursive: true })
    const shim = new FileShim(library, place, root)
    const sink = await startLedgerSink('127.0.0.2')
    const dns = await startFakeDns(zone())
    const outside = { STERNA_DNS_SERVERS: dns.server, STERNA_DELIVERY_PORT: String(sink.port) }
    const settings = typeof fault.settings === 'function' ? fault.settings(root) : fault.settings
    const server = await prepared.on(directory, { ...shim.environment, SHIM_LOG: '', ...outside, ...settings })
    server.openFiles = fault.openFiles ?? null
    return new Stage(fault, server, { directory, shim, dns, sink, random })
  }

  /** Waits for a condition; where it is not met in time, that is a problem. */
  async demand(what: string, isMet: () => boolean, seconds = patienceSeconds): Promise<void> {
    if (!(await isMetWithin(isMet, seconds))) this.problems.push(`not ${what}`)
  }

  /** So many messages have to be taken from now on. */
  takes(count: number): Promise<void> {
    const size = this.ledger.acknowledged.size
    return this.demand('taking mail', () => this.ledger.acknowledged.size >= size + count)
  }

  isUp(): Promise<void> {
    return this.demand('up', () => this.supervised.isUp)
  }

  /** Lets the fault last for a while, and where /healthz has to tell it, until it does. */
  async lasts(): Promise<void> {
    await pause(lastsMs)
    const told = this.#isTold
    if (told) await isMetWithin(() => this.health.hasTold(told), patienceSeconds / 2)
  }

  stopLoad(): Promise<void> {
    return this.#stopLoad()
  }

  /** Waits, after the load, until everything is delivered and written down, or long enough. */
  async settle(): Promise<void> {
    await isMetWithin(() => this.undelivered().length === 0, patienceSeconds)
    await isMetWithin(() => this.counts().unsettled === 0, patienceSeconds / 4)
  }

  /** Acknowledged, but not delivered. */
  undelivered(): string[] {
    return [...this.ledger.acknowledged].filter((id) => !this.sink.taken.has(id))
  }

  /** What the database says of those who were not delivered to, and does not know of the others. */
  counts(): { lost: number; bounced: number; suppressed: number; left: number; unsettled: number } {
    const rows = rowsIn(this.directory)
    const recipients = rows<{ forward_path: string; state: string }>('select forward_path, state from recipient')
    const stateOf = new Map(recipients.map(({ forward_path, state }) => [forward_path.split('@')[0] as string, state]))
    const undelivered = this.undelivered().map((id) => stateOf.get(id))
    return {
      lost: undelivered.filter((state) => state === undefined).length,
      bounced: recipients.filter(({ state }) => state === 'bounced' || state === 'failed').length,
      suppressed: rows<{ n: number }>('select count(*) as n from suppression')[0]?.n ?? 0,
      left: undelivered.filter((state) => state === 'queued' || state === 'deferred' || state === 'sent').length,
      unsettled: [...this.ledger.acknowledged].filter((id) => this.sink.taken.has(id) && stateOf.get(id) !== 'delivered').length,
    }
  }

  async close(): Promise<void> {
    this.health.stop()
    await this.supervised.stop()
    await this.#stopLoad()
    await this.dns.close()
    this.sink.close()
    this.shim.close()
  }
}

async function isMetWithin(isMet: () => boolean, seconds: number): Promise<boolean> {
  for (const end = performance.now() + seconds * 1000; performance.now() < end; await pause(100)) if (isMet()) return true
  return isMet()
}
