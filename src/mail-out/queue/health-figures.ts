import type { BaseServices } from '../../platform/base-services.ts'
import { faultNames } from '../../platform/health.ts'
import type { Gauges } from '../../platform/metrics/metrics-page.ts'
import type { QueueRunner } from './queue-runner.ts'

interface HealthFiguresServices extends Pick<BaseServices, 'metrics' | 'health'> {
  queue: Pick<QueueRunner, 'overdueMs'>
}

/** Health figures that are held in memory. */
export const healthFigures = ({ health, queue, metrics }: HealthFiguresServices): Gauges => ({
  part: 'health',
  gauges: [...Object.values(metrics.faults), metrics.oldestOverdue],
  goodForMs: 0,
  read() {
    for (const name of faultNames) metrics.faults[name].set(health.has(name) ? 1 : 0)
    metrics.oldestOverdue.set(queue.overdueMs / 1000)
  },
})
