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

test('a linter finds no error in the document that a relay serves', async () => {
  const relay = await startTestRelay()
  const document = await fetch(`${relay.baseUrl}/openapi.json`).then((answer) => answer.text())
  await relay.stop()
  const path = join(testDirectory(), 'openapi.json')
  writeFileSync(path, document)
  const args = [linter, 'lint', '--extends=recommended', '--format=json', '--max-problems=10000', path]
  // It exits with 1 where it finds errors, and prints them all the same.
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: quiet, maxBuffer: 1e8 }).catch(
    (error: { stdout: string }) => error,
  )
  const { problems } = JSON.parse(stdout) as Report
  const text = ({ ruleId, message }: Report['problems'][number]) => `${ruleId}: ${message}`
  console.log(`${Object.keys(JSON.parse(document).paths).length} paths, ${document.length} bytes; warnings:`)
  console.log(
    problems
      .filter(({ severity }) => severity === 'warn')
      .map(text)
      .join('\n'),
  )
  expect(problems.filter(({ severity }) => severity === 'error').map(text)).toEqual([])
})
