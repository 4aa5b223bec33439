import { schedule, type TaskOptions } from 'node-cron'
import { messageOf } from './errors.ts'
import type { Log } from './log.ts'

/** A repeated job. It decides by itself what is due, so an extra or a missed run does no harm. */
export interface Job {
  name: string
  /** Cron expression, UTC. */
  cron: string
  run(): Promise<unknown>
}

export interface Scheduler {
  /** Call it when the clock was set, because node-cron waits for the next minute by the old time. */
  clockSet(): void
  stop(): Promise<void>
}

/**
 * Starts the jobs. A failed run is logged; runs of a job never overlap. Stopping does not wait for a run: what
 * it has not done is due at the next start.
 */
export function startScheduler(jobs: Job[], log: Log): Scheduler {
  let isStopped = false
  const running = new Set<Job>()
  const failed = (job: string, error: unknown): void => {
    if (isStopped) log.debug({ job, error }, 'a scheduled job was interrupted by the stop')
    else log.error({ job, error }, 'a scheduled job failed')
  }
  const runOnce = async (job: Job): Promise<void> => {
    if (running.has(job)) return
    running.add(job)
    await job.run().catch((error: unknown) => failed(job.name, error))
    running.delete(job)
  }
  const logger = cronLogger(log)
  const startTasks = () => jobs.map((job) => schedule(job.cron, () => runOnce(job), { name: job.name, timezone: 'UTC', logger }))
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

/** node-cron writes to the console by itself, for example when the machine was too busy to start a job in time. */
function cronLogger(log: Log): NonNullable<TaskOptions['logger']> {
  const words = (said: string | Error): object => ({ problem: messageOf(said) })
  return {
    debug: (said) => log.debug(words(said), 'the scheduler says something'),
    info: (said) => log.info(words(said), 'the scheduler says something'),
    warn: (said) => log.warn(words(said), 'the scheduler missed a run, or put it off'),
    error: (said, error) => log.error(words(error ?? said), 'the scheduler failed'),
  }
}
