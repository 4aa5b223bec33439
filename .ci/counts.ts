import { appendFileSync } from 'node:fs'
import type { Reporter, SerializedError, TestModule, TestSuite } from 'vitest/node'

/**
 * Counts the tests of a run, "passed failed", in the file COUNTS, and says in the file FAILURES what failed, an error beside all tests
 * too.
 */
export default class Counts implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let [passed, failed] = [0, 0]
    const fault = (name: string, error: { message?: string } | undefined): void => {
      failed++
      const [reason = ''] = (error?.message ?? '').split('\n')
      appendFileSync(process.env['FAILURES']!, `FAILED: ${name}: ${reason.slice(0, 300)}\n`)
    }
    for (const module of modules) {
      const failedBefore = failed
      // Why tests were skipped: what precedes them failed.
      const errors = [module, ...module.children.allSuites()].flatMap((part: TestModule | TestSuite) => part.errors())
      for (const test of module.children.allTests()) {
        const result = test.result()
        if (test.meta().leftOut) continue
        if (result.state === 'passed') passed++
        else fault(`${module.relativeModuleId}: ${test.fullName} (${result.state})`, result.errors?.[0] ?? errors[0])
      }
      // A file that could not be read, or that failed before its first test or after its last.
      if (failed === failedBefore && errors.length > 0) fault(module.relativeModuleId, errors[0])
    }
    for (const error of unhandled) fault('a run, beside its tests', error)
    appendFileSync(process.env['COUNTS']!, `${passed} ${failed}\n`)
  }
}
