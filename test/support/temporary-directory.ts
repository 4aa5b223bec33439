import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { endWithProcess } from './end-with-process.ts'

/** A new empty directory that goes away with the test, or, made outside a test, when `remove` is called. */
export function temporaryDirectory(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'sterna-test-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** A directory for the running test. */
export function testDirectory(): string {
  const { path, remove } = temporaryDirectory()
  onTestFinished(remove)
  return path
}

/** A directory for as long as this process runs. */
export function processDirectory(): string {
  const { path, remove } = temporaryDirectory()
  endWithProcess(remove)
  return path
}
