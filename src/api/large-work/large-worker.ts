import type { Log } from '../../platform/log.ts'
import { JobThread } from '../../platform/job-thread.ts'
import { OverBudget } from '../../mail/template/render-budget.ts'
import type { TemplateWork } from '../../mail/template/template-work.ts'
import { largeWork, type LargeJob, type LargeWork } from './large-work.ts'
import { isSmall } from './small-source.ts'

/** Does `largeWork`: small jobs at once, large ones one after the other on a thread that runs while there are any. */
export class LargeWorker {
  readonly #thread: JobThread

  constructor(log: Log) {
    this.#thread = new JobThread({
      module: new URL('./large-work-thread.ts', import.meta.url),
      name: 'large-work',
      onLost: (error) => log.error({ error }, 'the thread for large requests has ended; the next one starts another'),
    })
  }

  /**
   * Large bytes are transferred away from the caller.
   * @throws SternaError what the work throws; `service_unavailable` if the thread has ended meanwhile, and after `stop`
   */
  async run<Name extends keyof LargeWork>(name: Name, ...given: Parameters<LargeWork[Name]>): Promise<ReturnType<LargeWork[Name]>> {
    const job: LargeJob = { name, given }
    return (await this.#thread.run(job, given)) as ReturnType<LargeWork[Name]>
  }

  /** The work on templates, large or small. */
  get templateWork(): TemplateWork {
    const either =
      <Name extends keyof TemplateWork>(name: Name) =>
      async (...given: Parameters<LargeWork[Name]>): Promise<ReturnType<LargeWork[Name]>> =>
        isSmall(given)
          ? ((largeWork[name] as (...given: unknown[]) => unknown)(...given) as ReturnType<LargeWork[Name]>)
          : this.run(name, ...given)
    return {
      faults: either('faults'),
      diff: either('diff'),
      partials: either('partials'),
      resolve: either('resolve'),
      // A small template with a long list may become a large email.
      render: async (content, values, how) => {
        if (!isSmall([content, values])) return this.run('render', content, values, how)
        try {
          return largeWork.render(content, values, { ...how, isSmall: true })
        } catch (error) {
          if (!(error instanceof OverBudget)) throw error
          return this.run('render', content, values, how)
        }
      },
    }
  }

  /** Ends the thread and refuses what waits. */
  stop(): Promise<void> {
    return this.#thread.stop()
  }
}
