import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { faultsOf } from './copy-faults.ts'
import type { Fault } from './fault.ts'
import type { Stage } from './fault-stage.ts'
import { thingsIn } from './state-examination.ts'

/** How often a copy may still lack something when it is restored: the last second may be on its way. */
const restores = 5

const targetOf = ({ directory }: Stage): string => join(dirname(directory), 'target')

const snapshotsIn = (target: string): number =>
  existsSync(target)
    ? readdirSync(target, { recursive: true, encoding: 'utf8' }).filter((name) => /snapshot-[^/]*\.zst$/.test(name)).length
    : 0

/** Something happens to the directory that the continuous copy goes to; in the end a restore has everything. */
const ofTarget = (name: string, strike: (stage: Stage, target: string) => Promise<void>, more: Partial<Fault> = {}): Fault => ({
  name,
  livesOn: true,
  settings: (root) => ({ STERNA_BACKUP_TARGET: join(root, 'target'), STERNA_BACKUP_CONTINUOUS: 'true' }),
  async strike(stage) {
    const target = targetOf(stage)
    await stage.demand('storing a snapshot', () => snapshotsIn(target) > 0)
    await strike(stage, target)
    await toldOrOver(stage, 'over', (faults) => !faults.includes('copy'))
    await stage.takes(30)
  },
  afterwards: requireCopy,
  ...more,
})

/** What /healthz tells of the copy. */
async function toldOrOver(stage: Stage, what: string, isMet: (faults: string[]) => boolean): Promise<void> {
  let isSeen = false
  const asking = setInterval(
    () =>
      void faultsOf(stage.server).then(
        (faults) => (isSeen ||= isMet(faults)),
        () => {},
      ),
    100,
  )
  await stage.demand(`${what}: the fault of the copy in /healthz`, () => isSeen)
  clearInterval(asking)
}

const isTold = (stage: Stage): Promise<void> => toldOrOver(stage, 'told', (faults) => faults.includes('copy'))

/** Everything that has been acknowledged by now can soon be restored. */
async function requireCopy(stage: Stage): Promise<void> {
  const { directory, server, problems } = stage
  const acknowledged = [...stage.ledger.acknowledged]
  const places = mkdtempSync(join(dirname(directory), 'restored-'))
  let words = ''
  for (let number = 0; number < restores; number++) {
    const place = join(places, String(number))
    const elsewhere = await server.on(place, { LD_PRELOAD: '' })
    const { stdout, stderr } = await elsewhere.tryCommand('restore', targetOf(stage), '--copy', '--key', join(directory, 'secret.key'))
    if (stdout.trim() === '') words = stderr.trim()
    else {
      const found = new Set(thingsIn(place))
      const missing = acknowledged.filter((id) => !found.has(id)).length
      if (missing === 0) return
      words = `it lacks ${missing} of ${acknowledged.length}`
    }
    await pause(1_000)
  }
  problems.push(`the copy cannot be used: ${words}`)
}

/** Another directory in its place, as a mount or its absence makes it. */
function putInPlace(other: string, target: string, aside: string): void {
  renameSync(target, aside)
  renameSync(other, target)
}

const away = ofTarget('a target away for six seconds', async (stage, target) => {
  mkdirSync(`${target}-empty`)
  putInPlace(`${target}-empty`, target, `${target}-aside`)
  await pause(6_000)
  if (readdirSync(target).length > 0) stage.problems.push('something was stored where nothing is mounted')
  putInPlace(`${target}-aside`, target, `${target}-empty`)
})

const gone = ofTarget('a target away until it is told, and over a restart', async (stage, target) => {
  mkdirSync(`${target}-empty`)
  putInPlace(`${target}-empty`, target, `${target}-aside`)
  await isTold(stage)
  await stage.supervised.hold()
  stage.supervised.release()
  await stage.isUp()
  await isTold(stage)
  if (readdirSync(target).length > 0) stage.problems.push('something was stored where nothing is mounted')
  putInPlace(`${target}-aside`, target, `${target}-empty`)
})

const swapped = ofTarget(
  'a target swapped, with a wrong clock, and swapped back',
  async (stage, target) => {
    mkdirSync(`${target}-other`)
    writeFileSync(join(`${target}-other`, 'sterna-target.json'), '{"id":"another"}')
    putInPlace(`${target}-other`, target, `${target}-aside`)
    await stage.demand('storing a snapshot at the other target', () => snapshotsIn(target) > 0)
    for (const name of readdirSync(target, { recursive: true, encoding: 'utf8' })) utimesSync(join(target, name), 1, 1)
    await stage.takes(30)
    await requireCopy(stage)
    const before = snapshotsIn(`${target}-aside`)
    putInPlace(`${target}-aside`, target, `${target}-other`)
    await stage.demand('storing another snapshot at the first target', () => snapshotsIn(target) > before)
  },
  { isShort: true },
)

const full = ofTarget('a full target', async (stage, target) => {
  stage.shim.fail({ error: 'ENOSPC', calls: ['write'], path: `${target}/` })
  await isTold(stage)
  stage.shim.fail(null)
})

export const targetFaults: Fault[] = [away, gone, swapped, full]
