/** Runs ahead of each file of tests: see vitest.config.ts. */
import fc from 'fast-check'
import { afterAll } from 'vitest'
import { cases } from './cases.ts'
import { finishFile } from './file-finished.ts'

fc.configureGlobal({ numRuns: cases(100) })
afterAll(finishFile)
