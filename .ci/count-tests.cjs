// node count-tests.cjs RESULTS: counts what is in the JSON that Vitest writes, "passed failed", and tells on standard error what failed.
const { relative } = require('node:path')
const { readFileSync } = require('node:fs')

const text = readFileSync(process.argv[2], 'utf8')
// A run that was killed has written nothing.
const { testResults } = text === '' ? { testResults: [] } : JSON.parse(text)
let [passed, failed] = [0, 0]
for (const { name, assertionResults, message } of testResults) {
  const path = relative('.', name)
  const ran = assertionResults.filter(({ meta }) => !meta.leftOut)
  const bad = ran.filter(({ status }) => status !== 'passed')
  passed += ran.length - bad.length
  failed += bad.length
  // The file's own message says why the tests were skipped, where what precedes them failed.
  for (const { fullName, status, failureMessages = [] } of bad)
    console.error(`FAILED: ${path}: ${fullName} (${status}): ${(failureMessages[0] ?? message).split('\n')[0].slice(0, 300)}`)
  // A file that could not be read, or that failed before its first test.
  if (bad.length === 0 && message) {
    failed++
    console.error(`FAILED: ${path}: ${message.split('\n')[0].slice(0, 300)}`)
  }
}
console.log(passed, failed)
