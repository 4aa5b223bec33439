import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startTestRelay } from '../support/start-relay.ts'
import { testDirectory } from '../support/temporary-directory.ts'

interface Report {
  problems: { ruleId: string; severity: 'error' | 'warn'; message: string }[]
}

const linter = join(import.meta.dirname, '../../node_modules/@redocly/cli/bin/cli.js')
const quiet = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' }

test('a linter has nothing to say of the document that a relay serves', async () => {
  const relay = await startTestRelay()
  const document = await fetch(`${relay.baseUrl}/openapi.json`).then((answer) => answer.text())
  await relay.stop()
  const path = join(testDirectory(), 'openapi.json')
  writeFileSync(path, document)
  // Whoever asks whether the server is well, or for its documents, is refused nothing.
  const options = ['--extends=recommended', '--skip-rule=operation-4xx-response', '--format=json', '--max-problems=10000']
  // It exits with 1 where it finds errors, and prints them all the same.
  const { stdout } = await promisify(execFile)(process.execPath, [linter, 'lint', ...options, path], { env: quiet, maxBuffer: 1e8 }).catch(
    (error: { stdout: string }) => error,
  )
  const { problems } = JSON.parse(stdout) as Report
  expect(problems.map(({ severity, ruleId, message }) => `${severity} ${ruleId}: ${message}`)).toEqual([])
  expect(Object.keys((JSON.parse(document) as { paths: object }).paths).length).toBeGreaterThan(90)
})
