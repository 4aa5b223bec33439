import { cpSync, mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startFakeDns } from '../../test/support/fake-dns.ts'
import type { FakeDns, FakeRecords } from '../../test/support/fake-dns.ts'
import { rowsIn } from './database-rows.ts'
import { FileShim } from './file-shim.ts'
import { startLedgerSink } from './ledger-sink.ts'
import type { LedgerSink } from './ledger-sink.ts'
import { startMixedLoad } from './mixed-load.ts'
import type { Ledger } from './mixed-load.ts'
import type { ServerUnderTest } from './server-under-test.ts'
import { judgeEnding } from './state-examination.ts'
import { HealthSeen, SupervisedServer } from './supervised-server.ts'

/** Everything around one server that a fault strikes. */
export interface Stage {
  directory: string
  server: ServerUnderTest
  supervised: SupervisedServer
  shim: FileShim
  dns: FakeDns
  sink: LedgerSink
  ledger: Ledger
  random(): number
  /** Reads the database beside the server. */
  rows<R>(sql: string): R[]
  /** Lets the fault last for a while, and where /healthz has to tell it, until it does. */
  lasting(): Promise<void>
  /** So many messages have to be taken from now on. */
  takes(count: number): Promise<void>
  /** Waits for a condition; where it is not met in time, that is a fault of the server. */
  demand(what: string, isMet: () => boolean, seconds?: number): Promise<void>
}

/** Something that goes wrong around a server. */
export interface Fault {
  name: string
  /** True where it belongs to the short form. */
  isShort?: true
  /** Settings of the server by the names of their variables. */
  settings?: Record<string, string>
  /** How many files and sockets the server may have open. */
  openFiles?: number
  /** What /healthz must not be all the time while the fault lasts: `ok`. */
  isTold?: true
  /** True where the server must refuse to start while the fault lasts. */
  isRefused?: true
  /** True where the server must not end. */
  livesOn?: true
  /** Brings the fault about under load, and ends it. */
  strike(stage: Stage): Promise<void>
  /** What has to happen until everything is due again. */
  afterwards?(stage: Stage): Promise<void>
}

/** What came of it; counts are of recipients whose message was acknowledged. */
export interface FaultResult {
  name: string
  acknowledged: number
  /** Nowhere any more. */
  lost: number
  bounced: number
  suppressed: number
  /** Still in the queue although nothing is in the way. */
  stalled: number
  /** Delivered, but the database does not know. */
  unsettled: number
  twice: number
  inDoubt: number
  health: string
  ended: string
  problems: string[]
}

const rcptDomains = 5
/** How long a fault lasts at least, ms. */
const lastsMs = 3_000
/** The longest that anything may take after the fault, s: generous, for busy machines. */
const patienceSeconds = 60

/** A base that all faults are tried on: a prepared server's settings and directory, and the compiled file shim. */
export interface FaultBase {
  prepared: ServerUnderTest
  data: string
  work: string
  library: string
  random(): number
}

/** Loads a server of its own, lets the fault strike, and counts once it is over. */
export async function tryFault(fault: Fault, base: FaultBase): Promise<FaultResult> {
  const place = mkdtempSync(join(base.work, `${fault.name.replaceAll(/[^a-z0-9]+/gi, '-')}-`))
  const directory = join(place, 'root/data')
  mkdirSync(join(place, 'root'), { recursive: true })
  cpSync(base.data, directory, { recursive: true })
  const shim = new FileShim(base.library, place, join(place, 'root'))
  const sink = await startLedgerSink('127.0.0.2')
  const dns = await startFakeDns(zone())
  const environment = { ...shim.environment, SHIM_LOG: '', STERNA_DNS_SERVERS: dns.server, STERNA_DELIVERY_PORT: String(sink.port), ...fault.settings }
  const server = await base.prepared.on(directory, environment)
  server.openFiles = fault.openFiles ?? null
  const supervised = new SupervisedServer(server, sink)
  const problems: string[] = []
  const demand: Stage['demand'] = async (what, isMet, seconds = patienceSeconds) => {
    if (!(await isMetWithin(isMet, seconds))) problems.push(`not ${what}`)
  }
  try {
    await demand('up at first', () => supervised.isUp)
    const { ledger, stop } = startMixedLoad(server, { smtpClients: 2, httpClients: 2, size: 2_000 })
    const takes = async (count: number): Promise<void> => {
      const size = ledger.acknowledged.size
      await demand('taking mail', () => ledger.acknowledged.size >= size + count)
    }
    await takes(30)
    const health = new HealthSeen(server.httpPort)
    const lasting = async (): Promise<void> => {
      await pause(lastsMs)
      if (fault.isTold) await isMetWithin(() => health.hasTold, patienceSeconds / 2)
    }
    const { random } = base
    const stage: Stage = { directory, server, supervised, shim, dns, sink, ledger, random, rows: rowsIn(directory), lasting, takes, demand }
    await fault.strike(stage)
    health.stop()
    await takes(30)
    await stop()
    await fault.afterwards?.(stage)
    await isMetWithin(() => missing(stage).length === 0, patienceSeconds)
    await isMetWithin(() => counts(stage).unsettled === 0, patienceSeconds / 4)
    const counted = counts(stage)
    await supervised.stop()
    const twice = [...sink.taken.values()].reduce((sum, times) => sum + times - 1, 0)
    problems.push(...judge(fault, { ...counted, twice, inDoubt: supervised.inDoubt }, health, supervised))
    return {
      name: fault.name,
      acknowledged: ledger.acknowledged.size,
      ...counted,
      twice,
      inDoubt: supervised.inDoubt,
      health: [...health.seen].map(([said, times]) => `${said} ${times}`).join(', '),
      ended: supervised.endings.length === 0 ? 'lived on' : `ended ${supervised.endings.length}: ${wordsOf(supervised)}`,
      problems,
    }
  } finally {
    await supervised.stop()
    await dns.close()
    sink.close()
    shim.close()
  }
}

async function isMetWithin(isMet: () => boolean, seconds: number): Promise<boolean> {
  for (const end = performance.now() + seconds * 1000; performance.now() < end; await pause(100)) if (isMet()) return true
  return isMet()
}

/** Answers change at once when the zone does: nothing may be kept. */
export const zone = (): Record<string, FakeRecords> => ({
  ...Object.fromEntries(Array.from({ length: rcptDomains }, (_, i) => [`rcpt${i}.example`, { mx: [[10, 'sink.example']] }])),
  'sink.example': { a: ['127.0.0.2'] },
})

const missing = ({ ledger, sink }: Stage): string[] => [...ledger.acknowledged].filter((id) => !sink.taken.has(id))

/** Where the database has those who were not delivered to, and what it does not know of the others. */
function counts(stage: Stage): Pick<FaultResult, 'lost' | 'bounced' | 'suppressed' | 'stalled' | 'unsettled'> {
  const states = new Map<string, string>()
  for (const { forward_path, state } of stage.rows<{ forward_path: string; state: string }>('select forward_path, state from recipient')) {
    states.set(forward_path.split('@')[0] as string, state)
  }
  const waiting = new Set(['queued', 'deferred', 'scheduled', 'sent'])
  const away = missing(stage).map((id) => states.get(id) ?? 'lost')
  return {
    lost: away.filter((state) => state === 'lost').length,
    bounced: [...states.values()].filter((state) => state === 'bounced' || state === 'failed').length,
    suppressed: stage.rows<{ n: number }>('select count(*) as n from suppression')[0]?.n ?? 0,
    stalled: away.filter((state) => waiting.has(state)).length,
    unsettled: [...stage.ledger.acknowledged].filter((id) => stage.sink.taken.has(id) && states.get(id) !== 'delivered').length,
  }
}

type Counted = Pick<FaultResult, 'lost' | 'bounced' | 'suppressed' | 'stalled' | 'unsettled' | 'twice' | 'inDoubt'>

function judge(fault: Fault, counted: Counted, health: HealthSeen, { endings }: SupervisedServer): string[] {
  const { twice, inDoubt, ...none } = counted
  const problems = Object.entries(none).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []))
  if (twice > inDoubt) problems.push(`${twice} delivered twice, ${inDoubt} in doubt`)
  if (fault.isTold && !health.hasTold) problems.push('/healthz was ok all the time')
  if (fault.livesOn && endings.length > 0) problems.push(`ended ${endings.length} times`)
  if (fault.isRefused && endings.length === 0) problems.push('not refused')
  const silent = endings.find((ending) => judgeEnding(ending).fate === 'crashed')
  if (silent) problems.push(`ended without words: ${judgeEnding(silent).words}`)
  return problems
}

/** What the last ending said to an operator. */
function wordsOf({ endings }: SupervisedServer): string {
  const last = endings.at(-1)?.stderr.trim().split('\n').at(-1) ?? ''
  const { message = last, error } = last.startsWith('{') ? (JSON.parse(last) as { message?: string; error?: { message?: string } }) : {}
  return `${message}${error?.message === undefined ? '' : ` (${error.message})`}`.slice(0, 200)
}
