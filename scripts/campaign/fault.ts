import type { FaultName } from '../../src/platform/health.ts'
import type { Stage } from './fault-stage.ts'
import { judgeEnding } from './state-examination.ts'
import type { SupervisedServer } from './supervised-server.ts'

/** Something that goes wrong around a server. */
export interface Fault {
  name: string
  /** True where it belongs to the short form. */
  isShort?: true
  /** Settings of the server by the names of their variables; `root`: where it may have files beside its data directory. */
  settings?: Record<string, string> | ((root: string) => Record<string, string>)
  /** How many files and sockets the server may have open. */
  openFiles?: number
  /** What /healthz must list while the fault lasts; `true`: it must not say `ok` all the time. */
  isTold?: true | FaultName
  /** True where the server must refuse to start while the fault lasts. */
  isRefused?: true
  /** True where the server must not end. */
  livesOn?: true
  /** Brings the fault about, and ends it. */
  strike(stage: Stage): Promise<void>
  /** What has to happen, once the load is over, until everything is due again. */
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
  left: number
  /** Delivered, but the database does not know. */
  unsettled: number
  twice: number
  inDoubt: number
  health: string
  ended: string
  problems: string[]
}

/** Lets a fault strike a server under load, and counts once it is over. */
export async function tryFault(fault: Fault, stage: Stage): Promise<FaultResult> {
  const { supervised, ledger, health, problems } = stage
  await stage.takes(30)
  health.forget()
  await fault.strike(stage)
  const seen = health.toString()
  if (fault.isTold && !health.hasTold(fault.isTold)) problems.push(`/healthz said only: ${seen}`)
  await stage.takes(30)
  await stage.stopLoad()
  await fault.afterwards?.(stage)
  await stage.settle()
  const counted = stage.counts()
  await supervised.stop()
  const twice = [...stage.sink.taken.values()].reduce((sum, times) => sum + times - 1, 0)
  const { inDoubt } = supervised
  for (const [what, count] of Object.entries(counted)) if (count > 0) problems.push(`${count} ${what}`)
  if (twice > inDoubt) problems.push(`${twice} delivered twice, ${inDoubt} in doubt`)
  problems.push(...faultsOfEndings(fault, supervised))
  return {
    name: fault.name,
    acknowledged: ledger.acknowledged.size,
    ...counted,
    twice,
    inDoubt,
    health: seen,
    ended: wordsOf(supervised),
    problems,
  }
}

function faultsOfEndings(fault: Fault, { endings }: SupervisedServer): string[] {
  const silent = endings.map(judgeEnding).find(({ fate }) => fate === 'crashed')
  return [
    ...(fault.livesOn && endings.length > 0 ? [`ended ${endings.length} times`] : []),
    ...(fault.isRefused && endings.length === 0 ? ['not refused'] : []),
    ...(silent ? [`ended without words: ${silent.words}`] : []),
  ]
}

/** How often it ended, and what it said to an operator last. */
function wordsOf({ endings }: SupervisedServer): string {
  const last = endings.at(-1)?.stderr.trim().split('\n').at(-1)
  if (last === undefined) return 'lived on'
  const { message = last, error } = last.startsWith('{') ? (JSON.parse(last) as { message?: string; error?: { message?: string } }) : {}
  return `ended ${endings.length} times: ${message}${error?.message === undefined ? '' : ` (${error.message})`}`
}
