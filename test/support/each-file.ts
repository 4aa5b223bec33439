/** Runs ahead of each file of tests: see vitest.config.ts. */
import fc from 'fast-check'
import { afterAll, beforeEach } from 'vitest'
import { cases } from './cases.ts'
import { finishFile } from './file-finished.ts'
import { isAboutFiles, isOnPostgres } from './tests-on-postgres.ts'

// Ends the search for a smaller counterexample in time to tell the one that was found.
fc.configureGlobal({ numRuns: cases(100), interruptAfterTimeLimit: 120_000 })
afterAll(finishFile)
if (isOnPostgres) {
  beforeEach(({ task, skip }) => {
    if (!isAboutFiles(task.file.name, task.name)) return
    // CI counts what is skipped as failed, but for these.
    task.meta.leftOut = true
    skip()
  })
}

declare module 'vitest' {
  interface TaskMeta {
    leftOut?: boolean
  }
}
