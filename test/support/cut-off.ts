import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** What changes a file system, or has a change on disk, as the source calls it. */
const steps = ['chmodSync', 'copyFileSync', 'fsyncSync', 'linkSync', 'mkdirSync', 'renameSync', 'rmSync', 'writeFileSync'] as const

/**
 * Runs something as if the process were killed before its `count`-th step on the file system: neither that one nor any after it happens.
 * Of threads, only this one is cut off. Answers how many steps there were.
 */
export async function cutOffBefore(count: number, run: () => Promise<unknown>): Promise<number> {
  const real = { ...fs }
  let done = 0
  for (const name of steps) {
    Object.assign(fs, {
      [name]: (...args: unknown[]) => {
        if (++done >= count) throw new Error(`cut off before ${name} ${String(args[0])}`)
        return (real[name] as (...args: unknown[]) => unknown)(...args)
      },
    })
  }
  syncBuiltinESMExports()
  try {
    await run().catch(() => {})
  } finally {
    for (const name of steps) Object.assign(fs, { [name]: real[name] })
    syncBuiltinESMExports()
  }
  return done
}
