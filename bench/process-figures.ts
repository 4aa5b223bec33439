import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** A process and all that it started. */
function family(pid: number): number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
    return [pid, ...children.flatMap(family)]
  } catch {
    return []
  }
}

/** CPU seconds that these processes, and those of their children that have ended, have used. Linux only. */
export function cpuSeconds(pids: number[]): number {
  let ticks = 0
  for (const pid of pids.flatMap(family)) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
      ticks += fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    } catch {
      // It ended meanwhile; its parent counts it.
    }
  }
  return ticks / ticksPerSecond
}

/** Resident memory of these processes together, MB; shared pages count in each. */
export function residentMegabytes(pids: number[]): number {
  let kilobytes = 0
  for (const pid of pids.flatMap(family)) {
    try {
      kilobytes += Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
    } catch {
      // It ended meanwhile.
    }
  }
  return kilobytes / 1024
}
