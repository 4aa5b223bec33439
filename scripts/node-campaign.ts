/**
 * Proves that any of several nodes over one PostgreSQL may die, stop, wake late or lose the database: two real servers under mixed load
 * (mail over SMTP and HTTP, large and small, some of it deferred at first or bounced later, webhooks, followers of the events) and one fault
 * after another. Needs PostgreSQL as Debian installs it. Loopback only, bounded.
 *
 * node scripts/node-campaign.ts [--rounds 30] [--seed N] [--only NAME] [--directory DIR]
 *
 * Exits 0 when nothing that was acknowledged is lost, nothing came twice but what was in doubt at a fault, each event has one delivery to a
 * webhook, followers at both nodes saw all events in order, all in hand went on within ten seconds, and no row is owned by nobody.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { endWithProcess } from '../test/support/end-with-process.ts'
import {
  allDone,
  faultsOfOutcome,
  faultsOfRows,
  otherWorkDone,
  repeatedMail,
  repeatedPosts,
  takenOver,
  type Repeated,
} from './campaign/cluster-checks.ts'
import { clusterFaults, type Span } from './campaign/cluster-faults.ts'
import { startClusterStage } from './campaign/cluster-stage.ts'
import { seededRandom } from './campaign/seeded-random.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string', default: '' },
    directory: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
const random = seededRandom(Number(values.seed))
const faults = clusterFaults.filter(({ name }) => name.includes(values.only))
/** How long after a fault all must go on, ms. */
const takeOverMs = 10_000

const directory = values.directory ?? mkdtempSync(join(tmpdir(), 'sterna-nodes-'))
if (!values.directory) endWithProcess(() => rmSync(directory, { recursive: true, force: true }))
const stage = await startClusterStage(directory)
const { nodes, acknowledgedAt } = stage
const problems: string[] = []
/** When something was in doubt, so that it may come again. */
const inDoubt: Span[] = []

console.log(`seed ${values.seed}, ${rounds} rounds`)
console.log(row('round', 'fault', 'node', 's', 'buried', 'waiting', 'went on', 'mail', 'twice', 'posts', 'again'))
try {
  for (let round = 0; round < rounds; round++) await runRound(round)
  await stage.stopLoad()
  problems.push(...(await allDone(stage)), ...(await faultsOfOutcome(stage)))
  tellOutcome()
} finally {
  await stage.close()
}
for (const problem of problems) console.error(`FAILED: ${problem}`)
process.exit(problems.length > 0 ? 1 : 0)

async function runRound(round: number): Promise<void> {
  const fault = faults[round % faults.length] as (typeof faults)[number]
  const node = nodes[random() < 0.5 ? 0 : 1]
  await pause(1_000 + random() * 1_000)
  const begun = performance.now()
  const others = otherWorkDone(stage)
  const { repeats, since, buriedMs, problems: found } = await fault.run(stage, node, random)
  if (repeats) inDoubt.push(repeats)
  const over = since === null ? null : await takenOver(stage, since)
  if (over && over.ms > takeOverMs + over.lateMs) found.push(`mail went on only after ${seconds(over.ms)} s`)
  const othersMs = (await others) - (since ?? begun)
  if (since !== null && othersMs > takeOverMs + stage.lateness.during({ from: since, to: since + othersMs }))
    found.push(`webhooks and returned mail went on only after ${seconds(othersMs)} s`)
  found.push(...(await faultsOfRows(stage)))
  const [mail, posts] = [repeatedMail(stage, inDoubt), repeatedPosts(stage, inDoubt)]
  const took = [seconds(performance.now() - begun), buriedMs === null ? '' : seconds(buriedMs)]
  const wentOn = over ? [over.waiting, seconds(over.ms)] : ['', '']
  const counts = [acknowledgedAt.size, mail.times, stage.receiver.posts.length, posts.times]
  console.log(row(round + 1, fault.name, node.name, ...took, ...wentOn, ...counts))
  for (const problem of found) console.error(`  ${problem}`)
  problems.push(...found)
}

function tellOutcome(): void {
  const [mail, posts] = [repeatedMail(stage, inDoubt), repeatedPosts(stage, inDoubt)]
  const unexplained = (what: string, { unexplained: names }: Repeated): string[] =>
    names.length === 0 ? [] : [`${names.length} ${what} without a fault: ${names.slice(0, 10)}`]
  problems.push(...unexplained('messages came twice', mail), ...unexplained('events were posted again', posts))
  if (acknowledgedAt.size === 0) problems.push('nothing was sent')
  const refusals = Object.fromEntries(stage.ledgers.flatMap(({ refusals: answers }) => [...answers]))
  const readers = stage.readers.map(({ name, seen }) => `${name}: ${seen.length} events`)
  console.log(
    `${acknowledgedAt.size} messages acknowledged, ${mail.times} came twice; ${stage.bounced.size} bounces; ` +
      `${stage.receiver.posts.length} posts, ${posts.times} again; ${readers.join(', ')}; other answers ${JSON.stringify(refusals)}`,
  )
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}

function row(...cells: (string | number)[]): string {
  const widths = [5, -36, 4, 6, 6, 7, 7, 6, 5, 6, 5]
  return cells
    .map((cell, place) =>
      (widths[place] ?? 0) < 0 ? String(cell).padEnd(-(widths[place] ?? 0)) : String(cell).padStart(widths[place] ?? 0),
    )
    .join(' ')
}
