import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

// Programs that people write against the clients that generators make of our OpenAPI document.

const generators = join(import.meta.dirname, 'generators')
const packages = join(generators, 'node_modules')
const compiler = join(import.meta.dirname, '../../node_modules/typescript/lib/tsc.js')

let relay: TestRelay
const { path: directory, remove } = temporaryDirectory()
let key: string

beforeAll(async () => {
  if (!existsSync(packages)) throw new Error('Install the generators first: npm ci --prefix test/peer/generators')
  relay = await startTestRelay({ plans: 'enterprise=10000000' })
  const { accounts, apiKeys } = relay.relay.services
  key = (await apiKeys.create({ accountId: accounts.findAccount('test')!.id, name: 'generated', permission: 'full_access', sandbox: true }))
    .token
  symlinkSync(packages, join(directory, 'node_modules'))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  writeFileSync(join(directory, 'openapi.json'), await fetch(`${relay.baseUrl}/openapi.json`).then((answer) => answer.text()))
  for (const file of ['generate-hey-api.js', 'generate-orval.js', 'lint.js']) copyFileSync(join(generators, file), join(directory, file))
})

afterAll(async () => {
  await relay.stop()
  remove()
})

/** Runs a program of Node there, and gives what it prints. */
async function run(...args: string[]): Promise<string> {
  const env = { ...process.env, BASE_URL: relay.baseUrl, KEY: key }
  const done = await promisify(execFile)(process.execPath, args, { cwd: directory, env, maxBuffer: 1e8 }).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`${args.join(' ')} failed:\n${error.stdout}\n${error.stderr}`)
    },
  )
  return done.stdout
}

const options = {
  strict: true,
  noEmit: true,
  target: 'es2024',
  lib: ['es2024', 'dom', 'dom.iterable'],
  module: 'nodenext',
  types: ['node'],
  typeRoots: [join(import.meta.dirname, '../../node_modules/@types')],
  allowImportingTsExtensions: true,
}

test.each([
  [
    'openapi-typescript',
    'with-openapi-fetch.ts',
    [join(packages, 'openapi-typescript/bin/cli.js'), 'openapi.json', '-o', 'openapi-typescript/types.ts'],
  ],
  ['@hey-api/openapi-ts', 'with-hey-api.ts', ['generate-hey-api.js', 'openapi.json', 'hey-api']],
  ['orval', 'with-orval.ts', ['generate-orval.js', 'openapi.json', 'orval/client.ts']],
])('a client by %s compiles under strict, and sends, lists and reads', async (_, program, generator) => {
  await run(...generator)
  copyFileSync(join(generators, program), join(directory, program))
  const project = join(directory, 'tsconfig.json')
  writeFileSync(project, JSON.stringify({ compilerOptions: options, files: [program] }))
  expect(await run(compiler, '-p', project)).toBe('')
  expect(JSON.parse(await run(program))).toEqual({
    listed: [true],
    recipients: ['delivered@simulator.test', 'bounced@simulator.test'],
    bounceTypes: ['hard'],
    refused: ['from', 'subject'],
  })
})

test('a client by openapi-zod-client compiles under strict', { timeout: 300_000 }, async () => {
  await run(join(packages, 'openapi-zod-client/bin.js'), 'openapi.json', '-o', 'zod-client.ts')
  const project = join(directory, 'tsconfig-zod.json')
  // It takes zodios, whose own declarations do not compile.
  writeFileSync(project, JSON.stringify({ compilerOptions: { ...options, skipLibCheck: true }, files: ['zod-client.ts'] }))
  expect(await run(compiler, '-p', project)).toBe('')
})

test('the ruleset oas of Spectral has nothing to say of the document', async () => {
  expect(await run('lint.js', 'openapi.json')).toBe('')
})
