import { performance } from 'node:perf_hooks'
import type { Gauges } from './metrics-page.ts'
import type { Metrics } from './metrics.ts'

const sampleMs = 20

/** Measures the process: the main thread's timer delay 50 times a second, the rest on request. */
export function watchProcess(metrics: Metrics): { figures: Gauges; stop(): void } {
  let lastAt = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    metrics.loopDelay.observe(Math.max(0, now - lastAt - sampleMs) / 1000)
    lastAt = now
  }, sampleMs)
  timer.unref()
  metrics.startedAt.set(performance.timeOrigin / 1000)
  const figures: Gauges = {
    part: 'process',
    gauges: [metrics.resident, metrics.heapUsed, metrics.heapTotal, metrics.external],
    goodForMs: 0,
    read() {
      const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
      metrics.resident.set(rss)
      metrics.heapUsed.set(heapUsed)
      metrics.heapTotal.set(heapTotal)
      metrics.external.set(external)
      const { user, system } = process.cpuUsage()
      metrics.cpu.set((user + system) / 1e6)
      metrics.loopBusy.set(performance.eventLoopUtilization().active / 1000)
    },
  }
  return { figures, stop: () => clearInterval(timer) }
}
