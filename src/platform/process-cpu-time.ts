import { readFileSync } from 'node:fs'

/** ms per tick in /proc; the same on every Linux that runs Node */
const tickMs = 10
/** Fields after the program's name: proc(5), utime and stime. */
const [userTime, systemTime] = [11, 12]

/** The CPU time that a process has used, in ms; null if the system does not say, or the process has ended. */
export function cpuTimeOf(pid: number): number | null {
  let status: string
  try {
    status = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    // Not Linux, or no such process.
    return null
  }
  // The name may contain spaces and brackets.
  const fields = status.slice(status.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[userTime]) + Number(fields[systemTime])) * tickMs
}
