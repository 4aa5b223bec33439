import { schedule } from 'node-cron'
import type { Log } from './log.ts'

/** Something done again and again. What is due is decided by what it reads, so a run too many or too few does no harm. */
interface Job {
  name: string
  /** Cron expression, UTC. */
  cron: string
  run(): Promise<unknown>
}

export interface Scheduler {
  /** To be called when the time of day was set: node-cron waits for the next minute by the time that it was before. */
  clockSet(): void
  stop(): Promise<void>
}

/**
 * Starts the jobs. A run that fails is logged, and one never overlaps the next. A stop waits for no run: what it has not done
 * is due at the next start.
 */
export function startScheduler(jobs: Job[], log: Log): Scheduler {
  let isStopped = false
  const running = new Set<Job>()
  const failed = (job: string, error: unknown): void => {
    if (isStopped) log.debug({ job, error }, 'a scheduled job was cut short by the stop')
    else log.error({ job, error }, 'a scheduled job failed')
  }
  const runOnce = async (job: Job): Promise<void> => {
    if (running.has(job)) return
    running.add(job)
    await job.run().catch((error: unknown) => failed(job.name, error))
    running.delete(job)
  }
  const startTasks = () => jobs.map((job) => schedule(job.cron, () => runOnce(job), { name: job.name, timezone: 'UTC' }))
  const endTasks = async (): Promise<void> => void (await Promise.all(tasks.map((task) => task.destroy())))
  let tasks = startTasks()
  return {
    clockSet() {
      if (isStopped) return
      void endTasks()
      tasks = startTasks()
    },
    async stop() {
      isStopped = true
      await endTasks()
    },
  }
}
