/** Runs ahead of each file of tests: see vitest.config.ts. */
import { afterAll } from 'vitest'
import { finishFile } from './file-finished.ts'

afterAll(finishFile)
