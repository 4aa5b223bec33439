import { schedule } from 'node-cron'
import type { Log } from './log.ts'

/** Something done again and again. What is due is decided by what it reads, so a run too many or too few does no harm. */
interface Job {
  name: string
  /** Cron expression, UTC. */
  cron: string
  run(): Promise<unknown>
}

/**
 * Starts the jobs; the answer stops them. A run that fails is logged, and one never overlaps the next. A stop waits for no
 * run: what it has not done is due at the next start.
 */
export function startScheduler(jobs: Job[], log: Log): { stop(): Promise<void> } {
  let isStopped = false
  const failed = (job: string, error: unknown): void => {
    if (isStopped) log.debug({ job, error }, 'a scheduled job was cut short by the stop')
    else log.error({ job, error }, 'a scheduled job failed')
  }
  const tasks = jobs.map(({ name, cron, run }) =>
    schedule(cron, () => run().catch((error: unknown) => failed(name, error)), { name, timezone: 'UTC', noOverlap: true }),
  )
  return {
    async stop() {
      isStopped = true
      await Promise.all(tasks.map((task) => task.destroy()))
    },
  }
}
