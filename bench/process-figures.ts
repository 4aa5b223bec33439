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

/** What threads are called here, by the name that Node or the system has for them. */
export const threadNames: Record<string, string> = {
  'node-MainThread': 'main',
  MainThread: 'main',
  node: 'main',
  'node-V8Worker': "V8's helpers",
  'libuv-worker': 'pool',
  // The store's thread had no name at first.
  WorkerThread: 'writer',
}

/** CPU seconds that each thread of these processes has used, threads of one name together. Those that ended no longer count. Linux only. */
export function cpuByThread(pids: number[]): Record<string, number> {
  const byThread: Record<string, number> = {}
  for (const task of pids.flatMap((pid) => readdirSync(`/proc/${pid}/task`).map((id) => `/proc/${pid}/task/${id}`))) {
    try {
      const name = readFileSync(`${task}/comm`, 'utf8').trim()
      const thread = threadNames[name] ?? name
      const nanoseconds = Number(readFileSync(`${task}/schedstat`, 'utf8').split(' ')[0])
      byThread[thread] = (byThread[thread] ?? 0) + nanoseconds / 1e9
    } catch {
      // It ended meanwhile.
    }
  }
  return byThread
}

/** Lets these processes, and those that they have started, use only the first so many cores. */
export function pinTo(pids: number[], cores: number): void {
  for (const pid of pids.flatMap(family)) execFileSync('taskset', ['-acp', `0-${cores - 1}`, String(pid)], { stdio: 'ignore' })
}
