/**
 * Proves that what goes wrong around the server loses no mail, bounces none and ends by itself: failing, full and closed disks, damaged
 * files and pages, ended threads, locks, wrong clocks, wrong and dead DNS, an unreadable key, too few files. Each fault strikes a real server of its own under
 * mixed load, which is started again whenever it ends. Linux with a C compiler; loopback only, bounded.
 *
 * node scripts/fault-campaign.ts [--short] [--rounds 1] [--only TEXT] [--at-once 3] [--seed N] [--directory DIR]
 *
 * Exits 0 when of every fault nothing acknowledged was lost, bounced, suppressed or left, nothing but what was in doubt was
 * delivered twice, and the server either went on or ended with words for an operator.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { tryFault, type FaultResult } from './campaign/fault.ts'
import { Stage } from './campaign/fault-stage.ts'
import { faults } from './campaign/faults.ts'
import { compileFileShim } from './campaign/file-shim.ts'
import { seededRandom } from './campaign/seeded-random.ts'
import { ServerUnderTest } from './campaign/server-under-test.ts'

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '1' },
    'at-once': { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    directory: { type: 'string' },
  },
})
const work = realpathSync(values.directory ?? mkdtempSync(join(tmpdir(), 'sterna-faults-')))
const data = join(work, 'prepared')
// Every fault has a name server and an MX host of its own.
const prepared = await ServerUnderTest.prepare(data, '127.0.0.1:53', 25)
const base = { prepared, data, work, library: compileFileShim(work), random: seededRandom(Number(values.seed)) }
const chosen = faults.filter(({ name, isShort }) => name.includes(values.only) && (isShort || !values.short))
const waiting = Array.from({ length: Number(values.rounds) }, () => chosen).flat()
const results: FaultResult[] = []

async function tryNext(): Promise<void> {
  for (let fault = waiting.shift(); fault; fault = waiting.shift()) {
    const stage = await Stage.open(fault, base)
    const result = await tryFault(fault, stage).finally(() => stage.close())
    results.push(result)
    tell(result)
  }
}

function tell({
  name,
  acknowledged,
  lost,
  bounced,
  suppressed,
  left,
  unsettled,
  twice,
  inDoubt,
  health,
  ended,
  problems,
}: FaultResult): void {
  const counts = `${acknowledged} acknowledged, ${lost} lost, ${bounced} bounced, ${suppressed} suppressed, ${left} left, ${unsettled} not settled`
  console.log(
    `${problems.length === 0 ? 'ok  ' : 'NOT '} ${name}: ${counts}, ${twice} twice (${inDoubt} in doubt); healthz: ${health}; ${ended}`,
  )
  for (const problem of problems) console.log(`     ${problem}`)
}

console.log(`seed ${values.seed}, ${waiting.length} faults`)
await Promise.all(Array.from({ length: Number(values['at-once']) }, tryNext))
const failed = results.filter(({ problems }) => problems.length > 0)
console.log(`${results.length} faults, ${failed.length} not stood`)
if (!values.directory && failed.length === 0) rmSync(work, { recursive: true, force: true })
process.exit(failed.length === 0 && results.length > 0 ? 0 : 1)
