/** Runs ahead of each file of tests: see vitest.config.ts. */
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { cases } from './cases.ts'
import { finishFile } from './file-finished.ts'

// Ends the search for a smaller counterexample in time to tell the one that was found.
fc.configureGlobal({ numRuns: cases(100), interruptAfterTimeLimit: 120_000 })
afterAll(finishFile)
