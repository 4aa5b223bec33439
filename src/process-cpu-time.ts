import { readFileSync } from 'node:fs'

/** Of a tick in /proc, which is the same wherever Linux runs Node. */
const tickMs = 10
/** Of the fields behind the name of the program: proc(5), utime and stime. */
const [userTime, systemTime] = [11, 12]

/** What a process of this computer has had of the processors until now, in ms; null where the system does not tell, or it has ended. */
export function cpuTimeOf(pid: number): number | null {
  let status: string
  try {
    status = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    // No Linux, or no such process: both are answers.
    return null
  }
  // The name may hold spaces and brackets.
  const fields = status.slice(status.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[userTime]) + Number(fields[systemTime])) * tickMs
}
