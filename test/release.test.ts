import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { nextVersion } from '../scripts/release/changelog.ts'

const script = resolve(import.meta.dirname, '../scripts/release.ts')
const parent = mkdtempSync(join(tmpdir(), 'sterna-release-'))
afterAll(() => rmSync(parent, { recursive: true }))

const log = '# Changelog\n\n## Unreleased\n\n### Fixed\n\n- It works.\n\n## 0.1.0 - 2026-01-01\n\n- The first one.\n'
let directory: string

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...args], { cwd: directory, encoding: 'utf8' })
const read = (file: string): string => readFileSync(join(directory, file), 'utf8')
const release = (...args: string[]): { status: number | null; output: string } => {
  const identity = {
    GIT_AUTHOR_NAME: 'Test',
    GIT_AUTHOR_EMAIL: 'test@example.com',
    GIT_COMMITTER_NAME: 'Test',
    GIT_COMMITTER_EMAIL: 'test@example.com',
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd: directory,
    encoding: 'utf8',
    env: { ...process.env, ...identity },
  })
  return { status, output: stdout + stderr }
}

/** A repository whose checks pass, or whose tests fail. */
function repository({ changelog = log, test = 'node pass.js' } = {}): void {
  const scripts = { check: 'node pass.js', docs: 'node pass.js', test, 'test:long': 'node pass.js' }
  writeFileSync(join(directory, 'pass.js'), '')
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: 'example', version: '0.1.0', private: true, scripts }))
  writeFileSync(join(directory, 'CHANGELOG.md'), changelog)
  git('init', '--quiet', '--initial-branch', 'main')
  git('add', '.')
  git('commit', '--quiet', '--message', 'Begin')
}

beforeEach(() => {
  directory = mkdtempSync(join(parent, 'repository-'))
})

test('a release moves the changelog under the version, sets the version, commits and tags', () => {
  repository()
  expect(release('minor')).toMatchObject({ status: 0, output: expect.stringContaining('Tagged v0.2.0') })
  expect(read('CHANGELOG.md')).toMatch(
    /^# Changelog\n\n## Unreleased\n\n## 0\.2\.0 - \d{4}-\d\d-\d\d\n\n### Fixed\n\n- It works\.\n\n## 0\.1\.0 - 2026-01-01\n\n- The first one\.\n$/,
  )
  expect(JSON.parse(read('package.json'))).toMatchObject({ version: '0.2.0' })
  expect(git('log', '-1', '--format=%s').trim()).toBe('release: 0.2.0')
  expect(git('tag', '--list', '--format=%(refname:short) %(contents)', 'v*')).toContain('v0.2.0 v0.2.0\n\n### Fixed\n\n- It works.')
  expect(git('status', '--porcelain')).toBe('')
})

test.each([
  [
    'nothing under "Unreleased"',
    { changelog: '# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- x\n' },
    ['patch'],
    /nothing under "Unreleased"/,
  ],
  ['tests that fail', { test: 'node -e "process.exit(1)"' }, ['patch'], /npm test/],
  ['a version that is not higher', {}, ['0.1.0'], /not higher/],
  ['no version', {}, [], /Usage/],
])('with %s there is no release', (_, options, args, reason) => {
  repository(options)
  const changelog = read('CHANGELOG.md')
  const { status, output } = release(...args)
  expect([status, output]).toEqual([1, expect.stringMatching(reason)])
  expect(read('CHANGELOG.md')).toBe(changelog)
  expect(git('tag', '--list')).toBe('')
  expect(git('rev-list', '--count', 'HEAD').trim()).toBe('1')
})

test('does not release uncommitted changes or other branches', () => {
  repository()
  writeFileSync(join(directory, 'new'), '')
  expect(release('patch').output).toContain('uncommitted changes')
  rmSync(join(directory, 'new'))
  git('switch', '--quiet', '--create', 'other')
  expect(release('patch').output).toContain('Switch to main')
})

test.each([
  ['0.9.9', 'patch', '0.9.10'],
  ['0.9.9', 'minor', '0.10.0'],
  ['0.9.9', 'major', '1.0.0'],
  ['0.9.9', '0.10.0', '0.10.0'],
])('after %s, %s gives %s', (current, step, wanted) => {
  expect(nextVersion(current, step)).toBe(wanted)
})
