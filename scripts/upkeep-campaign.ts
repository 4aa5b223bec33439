/**
 * Measures how long what runs by itself holds the store thread, over a database of years: first where nothing is old, then where a
 * quarter of it is to be removed, and an erasure. Without flushes, which depend on the disk.
 *
 * node scripts/upkeep-campaign.ts [--messages 200000] [--directory DIR]
 *
 * A database that is in DIR already is used, and changed. Exits 0 where nothing held the thread for more than 50 ms of the processor
 * and the file has become smaller.
 */
import { closeSync, existsSync, fsyncSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { AuditLog } from '../src/senders/account/audit-log.ts'
import { secretsFrom } from '../src/senders/account/key-file.ts'
import { analyticsReader } from '../src/readers/analytics/rollup.ts'
import { sweepDomainReports } from '../src/mail-back/domain-report/domain-report-store.ts'
import { Erasures } from '../src/upkeep/erasure/erasures.ts'
import { ReturnedMailStore } from '../src/mail-back/feedback/returned-mail-store.ts'
import { ReturnedMailBudget } from '../src/mail-back/feedback/returned-mail-budget.ts'
import { silentLog } from '../src/platform/log.ts'
import { Retention } from '../src/mail/message/retention.ts'
import { parseAddress } from '../src/platform/smtp/address.ts'
import { databaseFile } from '../src/platform/store/sqlite/data-directory.ts'
import { Upkeep } from '../src/platform/store/upkeep.ts'
import { erasedAddressBy } from '../src/mail/suppression/erased-address.ts'
import { sweepSuppressions } from '../src/mail/suppression/remove-suppressions.ts'
import { fanOutReader } from '../src/notify/webhook/fan-out.ts'
import { makeHistory } from './campaign/long-history.ts'
import { timedStore } from './campaign/timed-store.ts'

const { values } = parseArgs({ options: { messages: { type: 'string', default: '200000' }, directory: { type: 'string' } } })
const maxMs = 50
const day = 86_400_000
const now = Date.UTC(2026, 10, 22)
const clock = { now: () => now, steady: () => performance.now(), at: () => () => {} }

const directory = values.directory ?? mkdtempSync(join(tmpdir(), 'sterna-upkeep-'))
const file = databaseFile(directory)
if (!existsSync(file)) {
  const startedAt = performance.now()
  makeHistory(directory, {
    messages: Number(values.messages),
    from: now - 100 * day,
    to: now,
    contentSince: now - 10 * day,
    attemptsSince: now - 100 * day,
  })
  // It was written without flushes; the first one of a step is not to pay for all of it.
  flush(file)
  console.log(`made ${values.messages} messages in ${Math.round((performance.now() - startedAt) / 1000)} s, ${megabytes()} MB`)
}
const { db, files, takeHolds } = timedStore(directory)
const sizeBefore = statSync(file).size
let longest = 0

function flush(path: string): void {
  const opened = openSync(path, 'r+')
  fsyncSync(opened)
  closeSync(opened)
}

function megabytes(): number {
  return Math.round(statSync(file).size / 1_000_000)
}

async function measure(name: string, work: () => Promise<unknown>): Promise<void> {
  takeHolds()
  const startedAt = performance.now()
  await work()
  console.log(`\n${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  for (const [what, holds] of Map.groupBy(takeHolds(), (hold) => hold.what)) {
    const sorted = (pick: (hold: (typeof holds)[number]) => number): number[] => holds.map(pick).toSorted((a, b) => a - b)
    const [cpu, wall] = [sorted((hold) => hold.cpu), sorted((hold) => hold.wall)]
    const at = (all: number[], part: number): string =>
      (all[Math.min(all.length - 1, Math.floor(all.length * part))] ?? 0).toFixed(1).padStart(6)
    console.log(
      `  ${what.padEnd(60)} ${String(holds.length).padStart(6)} times; cpu ms p50 ${at(cpu, 0.5)} p99 ${at(cpu, 0.99)} max ${at(cpu, 1)}; clock p50 ${at(wall, 0.5)} max ${at(wall, 1)}`,
    )
    longest = Math.max(longest, cpu.at(-1) ?? 0)
  }
}

const upkeep = new Upkeep(files.upkeep)
const returnedMail = new ReturnedMailStore({ db, clock, budget: new ReturnedMailBudget(clock, 256_000_000) })
const others = async (eventMs: number): Promise<void> => {
  await returnedMail.sweep({ contentMs: 7 * day, eventMs })
  await sweepDomainReports(db, now - eventMs)
  await sweepSuppressions(db, now, eventMs)
  await new AuditLog({ db, clock }).sweep(now - eventMs)
}

await measure('a minute in which nothing is old', async () => {
  await new Retention(db, { contentMs: 200 * day, eventMs: 200 * day }).sweep(now)
  await others(200 * day)
  await upkeep.run()
})
await measure('20,000 events are counted, and fanned out to a webhook', async () => {
  for (const name of ['analytics', 'webhook']) {
    const sql = `insert into cursor (name, position) select :name, max(seq) - 20000 from event where 1 = 1
                 on conflict (name) do update set position = excluded.position`
    await db.write([{ sql, params: { name } }])
  }
  await analyticsReader({ db, log: silentLog }).keepUp()
  await fanOutReader({ db, clock, log: silentLog, list: { someEnabled: true } }, () => {}).keepUp()
})
await measure('a quarter of all is removed, and content after a week', async () => {
  await new Retention(db, { contentMs: 7 * day, eventMs: 75 * day }).sweep(now)
  await others(75 * day)
})
await measure('its room is given back', async () => {
  while (await files.upkeep.shrink());
  await files.upkeep.emptyLog()
})
await measure('somebody is erased', async () => {
  const erasures = new Erasures({
    db,
    clock,
    log: silentLog,
    owner: 'node_1',
    secrets: secretsFrom(Buffer.alloc(32)),
    upkeep,
    erasedAddress: erasedAddressBy(() => [Buffer.alloc(32)]),
  })
  const number = Number(values.messages) - 7
  const address = parseAddress(`person-${number}@rcpt${number % 500}.example`)
  if (!address.ok) throw new Error(address.fault)
  const { id } = await erasures.begin(address, { accountId: null, sandboxOnly: false })
  await erasures.finished(id)
  console.log(JSON.stringify((await erasures.find(id, null))?.counts))
})

await db.close()
const isSmaller = statSync(file).size < sizeBefore
console.log(
  `\nlongest hold: ${longest.toFixed(1)} ms of the processor; the file: ${Math.round(sizeBefore / 1_000_000)} MB before, ${megabytes()} MB now`,
)
if (values.directory === undefined) rmSync(directory, { recursive: true })
process.exitCode = longest <= maxMs && isSmaller ? 0 : 1
