/** Does the work of large requests, one call after the other. Started by large-worker.ts. */
import { doJobs } from '../../platform/do-jobs.ts'
import { largeWork, type LargeJob } from './large-work.ts'

doJobs(({ name, given }: LargeJob) => (largeWork[name] as (...given: unknown[]) => unknown)(...given))
