import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { dockerfileSteps } from './support/dockerfile.ts'
import { testDirectory } from './support/temporary-directory.ts'

const root = resolve(import.meta.dirname, '..')

test('the files that the Dockerfile copies suffice to build the executable', () => {
  const directory = testDirectory()
  const steps = dockerfileSteps(readFileSync(join(root, 'Dockerfile'), 'utf8'))
  const buildStage = steps.slice(
    0,
    steps.findIndex(({ name }, at) => name === 'FROM' && at > 0),
  )
  for (const { name, value } of buildStage) {
    if (name !== 'COPY') continue
    // Each keeps its path.
    for (const file of value.split(' ').slice(0, -1)) cpSync(join(root, file), join(directory, file), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  execFileSync('npm', ['run', 'build:binary'], { cwd: directory, stdio: 'pipe' })
  const binary = join(directory, 'dist', `sterna-linux-${process.arch}`)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  expect(execFileSync(binary, ['version'], { env: {}, encoding: 'utf8' })).toBe(`${version}\n`)
})
