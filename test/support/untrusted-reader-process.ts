import { setTimeout as pause } from 'node:timers/promises'
import { readUntrusted } from '../../src/platform/untrusted-reader-child.ts'

/** Does what it is asked for: to have the processor for so many ms, or to leave it to others, to be killed, and to answer then. */
readUntrusted<{ busyMs: number; idleMs: number; signal?: NodeJS.Signals }, string>(async (document, { busyMs, idleMs, signal }) => {
  if (signal) process.kill(process.pid, signal)
  const before = process.cpuUsage()
  for (let ran = 0; ran < busyMs * 1_000;) {
    const { user, system } = process.cpuUsage(before)
    ran = user + system
  }
  if (idleMs > 0) await pause(idleMs)
  return document.toString()
})
