/**
 * Proves that a power cut loses nothing: what a real server writes and flushes is recorded, and the disk as cuts at random
 * moments may leave it is rebuilt (writes that were not flushed dropped, torn or reordered) and started again, for load, stop, first
 * start, migration, backup and restore. Then the same for load with the flushes of SQLite's WAL left out, which must be
 * caught: else the campaign is blind. Linux with a C compiler; loopback only, bounded.
 *
 * node scripts/power-cuts.ts [--cuts 300] [--seed N] [--only NAME,NAME] [--directory DIR]
 *
 * Exits 0 when every state started with all that was acknowledged, or, where that may be, was refused with words. What failed is
 * kept in the directory.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startFakeDns } from '../test/support/fake-dns.ts'
import { Disk } from './campaign/disk.ts'
import { compileFileShim } from './campaign/file-shim.ts'
import { startLedgerSink } from './campaign/ledger-sink.ts'
import {
  recordBackup,
  recordFirstStart,
  recordLoad,
  recordMigration,
  recordRestores,
  type Recording,
} from './campaign/power-cut-recordings.ts'
import { seededRandom } from './campaign/seeded-random.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'
import type { Fate } from './campaign/state-examination.ts'

const { values } = parseArgs({
  options: {
    cuts: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    directory: { type: 'string' },
  },
})
const [cuts, seed] = [Number(values.cuts), Number(values.seed)]
/** How many of twelve cuts fall into a recording. */
const shares: Record<string, number> = { load: 4, stop: 1, 'first-start': 2, migration: 1, backup: 1, restore: 1, 'restore-over': 2 }
/** States of a recording are started by so many servers at once. */
const atOnce = 2
const chosen = values.only?.split(',') ?? Object.keys(shares)
const total = chosen.reduce((sum, name) => sum + (shares[name] ?? 0), 0)

const work = realpathSync(values.directory ?? mkdtempSync(join(tmpdir(), 'sterna-power-cuts-')))
const sink = await startLedgerSink('127.0.0.2')
const mx = { mx: [[10, 'sink.example']] as [number, string][], ttl: 60 }
const zone = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`rcpt${i}.example`, mx]))
const dns = await startFakeDns({ ...zone, 'sink.example': { a: ['127.0.0.2'], ttl: 60 } })
const data = join(work, 'prepared')
const prepared = await ServerUnderTest.prepare(data, dns.server, sink.port)
const base = { prepared, data, work, library: compileFileShim(work) }

interface Failure {
  recording: Recording
  number: number
  place: number
  fate: Fate
  words: string
  state: string
}

interface Cutting {
  count: number
  seed: number
  ignoresFlush?(path: string): boolean
}

/** Cuts a recording at random places, starts what is left of each, and tells what became of them. */
async function cutAtRandom(recording: Recording, { count, seed, ignoresFlush }: Cutting) {
  const { name, records, mayRefuseUntil } = recording
  const [fates, failures, running] = [new Map<Fate, number>(), [] as Failure[], new Set<Promise<void>>()]
  const disk = new Disk(recording, ignoresFlush)
  let applied = 0
  for (const [number, place] of choosePlaces(recording, count, seededRandom(seed)).entries()) {
    for (; applied < place; applied++) disk.apply(records[applied]!)
    const state = join(work, `state-${name}-${number}${ignoresFlush ? `-canary-${seed}` : ''}`)
    disk.writeAfterPowerCut(state, seededRandom(seed + number))
    const position = records[place - 1]?.end ?? 0
    const examined = recording.examine(state, position).then(({ fate, words }) => {
      fates.set(fate, (fates.get(fate) ?? 0) + 1)
      if (fate !== 'whole' && !(fate === 'refused' && position < mayRefuseUntil))
        failures.push({ recording, number, place, fate, words, state })
      rmSync(state, { recursive: true })
    })
    const slot = examined.finally(() => running.delete(slot))
    running.add(slot)
    if (running.size >= atOnce) await Promise.race(running)
  }
  await Promise.all(running)
  return { fates, failures }
}

/** Writes a state once more as it was before it was started. */
function keepState({ recording, number, place, state }: Failure): void {
  const disk = new Disk(recording)
  for (const record of recording.records.slice(0, place)) disk.apply(record)
  disk.writeAfterPowerCut(state, seededRandom(seed + number))
}

/**
 * Places of a recording: a fifth behind its last record, as if the power went some time later, two fifths at a flush or a change
 * of a directory, where what is certain changes, and the rest anywhere.
 */
function choosePlaces({ records, cuts: { from, to } }: Recording, count: number, random: () => number): number[] {
  const turns = Array.from({ length: to - from }, (_, i) => from + i).filter((place) => records[place]?.call !== 'write')
  const anywhere = (): number => from + Math.floor(random() * (to - from + 1))
  const atTurn = (): number => (turns[Math.floor(random() * turns.length)] ?? from) + Math.round(random())
  return Array.from({ length: count }, (_, i) => (i % 5 === 0 ? to : i % 5 < 3 ? atTurn() : anywhere())).sort(
    (one, another) => one - another,
  )
}

const told = (fates: Map<Fate, number>): string => [...fates].map(([fate, times]) => `${times} ${fate}`).join(', ')
const failures: Failure[] = []
let isBlind = chosen.includes('load')

async function tryRecording(recording: Recording): Promise<void> {
  const count = Math.round((cuts * (shares[recording.name] ?? 0)) / total)
  const result = await cutAtRandom(recording, { count, seed })
  console.log(`${recording.name}: ${count} cuts in ${recording.cuts.to - recording.cuts.from} changes and flushes: ${told(result.fates)}`)
  failures.push(...result.failures)
  if (recording.name !== 'load') return
  await tryCanary(recording, Math.max(3, Math.round(count / 10)))
}

/** Cuts on until one is caught; one alone may be lucky. */
async function tryCanary(recording: Recording, count: number): Promise<void> {
  for (let round = 0; round < 12 && isBlind; round++) {
    const canary = await cutAtRandom(recording, { count, seed: seed + round, ignoresFlush: (path) => path.endsWith('-wal') })
    console.log(`canary, flushes of the WAL left out: ${told(canary.fates)}`)
    isBlind = canary.failures.length === 0
  }
}

const recorders: { names: string[]; record(): Promise<Recording | Recording[]> }[] = [
  { names: ['load', 'stop'], record: () => recordLoad(base, 300) },
  { names: ['restore', 'restore-over'], record: () => recordRestores(base) },
  { names: ['backup'], record: () => recordBackup(base) },
  { names: ['first-start'], record: () => recordFirstStart(base) },
  { names: ['migration'], record: () => recordMigration(base) },
]
const waiting = recorders.filter(({ names }) => names.some((name) => chosen.includes(name)))

/** Two at once, since a recording leaves half of a machine idle. */
async function tryNext(): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    for (const recording of [await next.record()].flat()) if (chosen.includes(recording.name)) await tryRecording(recording)
  }
}

console.log(`seed ${seed}, ${cuts} cuts`)
await Promise.all([tryNext(), tryNext()])
for (const failure of failures) {
  keepState(failure)
  const {
    recording: { records },
    place,
    fate,
    words,
    state,
  } = failure
  console.error(`NOT whole: ${state}, cut behind ${place} of ${records.length} records: ${fate}, ${words}`)
}
if (isBlind) console.error('NOT caught: the canary, so the campaign is blind')
dns.close()
sink.close()
const isGood = failures.length === 0 && !isBlind
if (!values.directory && isGood) rmSync(work, { recursive: true, force: true })
process.exit(isGood ? 0 : 1)
