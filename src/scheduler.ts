import { schedule } from 'node-cron'
import type { Log } from './log.ts'

/** Something done again and again. What is due is decided by what it reads, so a run too many or too few does no harm. */
interface Job {
  name: string
  /** Cron expression, UTC. */
  cron: string
  run(): Promise<unknown>
}

/** Starts the jobs; the answer stops them. A run that fails is logged, and one never overlaps the next. */
export function startScheduler(jobs: Job[], log: Log): { stop(): Promise<void> } {
  const tasks = jobs.map(({ name, cron, run }) =>
    schedule(cron, () => run().catch((error: unknown) => log.error({ job: name, error }, 'a scheduled job failed')), {
      name,
      timezone: 'UTC',
      noOverlap: true,
    }),
  )
  return {
    async stop() {
      await Promise.all(tasks.map((task) => task.destroy()))
    },
  }
}
