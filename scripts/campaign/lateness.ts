/** How late a machine calls its processes: it may have other work. */
export interface Lateness {
  /** By how much timers were late in a time as of `performance.now()`, all together, ms. */
  during(span: { from: number; to: number }): number
  stop(): void
}

const everyMs = 50

export function watchLateness(): Lateness {
  const late: { at: number; ms: number }[] = []
  let last = performance.now()
  const timer = setInterval(() => {
    const at = performance.now()
    if (at - last > 2 * everyMs) late.push({ at, ms: at - last - everyMs })
    last = at
  }, everyMs)
  return {
    during: ({ from, to }) => late.filter(({ at }) => at >= from && at <= to).reduce((sum, { ms }) => sum + ms, 0),
    stop: () => clearInterval(timer),
  }
}
