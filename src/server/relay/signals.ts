import { closeSync, openSync } from 'node:fs'
import type { Log } from '../../platform/log.ts'

/** ms; npm forwards Ctrl-C, which the terminal also sends to us, so a second signal this soon is the same one */
const sameSignalMs = 1_000

/** Resolves with the first signal to stop; a second one ends the process at once. `reload` is called at each SIGHUP until then. */
export function nextStopSignal(log: Log, reload: () => void): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let askedAt: number | undefined
  const stop = (signal: NodeJS.Signals): void => {
    askedAt ??= performance.now()
    resolve(signal)
    if (performance.now() - askedAt < sameSignalMs) return
    log.warn({ signal }, 'ending at once after a second signal')
    process.exit(1)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  const hadTerminal = hasTerminal()
  process.on('SIGHUP', () => {
    // A terminal that was closed sends it too.
    if (hadTerminal && !hasTerminal()) stop('SIGHUP')
    else if (askedAt === undefined) reload()
  })
  return promise
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}
