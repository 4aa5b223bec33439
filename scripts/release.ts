/**
 * Releases what is on `main`: checks and tests it, moves the changelog's "Unreleased" section under the new version, sets the version,
 * commits and tags. It pushes nothing. The forge builds the image and the binaries when the tag is pushed.
 *
 * npm run release -- patch|minor|major|VERSION
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { nextVersion, releaseNotes } from './release/changelog.ts'

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
const npm = (...args: string[]): void => void execFileSync('npm', args, { stdio: 'inherit', shell: process.platform === 'win32' })

function release(step: string): string {
  if (git('status', '--porcelain') !== '') throw new Error('There are uncommitted changes. Commit them first.')
  const branch = git('branch', '--show-current')
  if (branch !== 'main') throw new Error(`This is the branch ${branch}. Switch to main.`)
  const { version: current } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const version = nextVersion(current, step)
  const tag = `v${version}`
  if (git('tag', '--list', tag) !== '') throw new Error(`The tag ${tag} already exists. Choose another version.`)
  const { changelog, notes } = releaseNotes(readFileSync('CHANGELOG.md', 'utf8'), version, new Date().toISOString().slice(0, 10))

  npm('run', 'check')
  npm('run', 'docs', '--', '--check')
  npm('test')
  npm('run', 'test:long')

  writeFileSync('CHANGELOG.md', changelog)
  npm('version', version, '--no-git-tag-version')
  git('commit', '--quiet', '--all', '--message', `release: ${version}`)
  git('tag', '--annotate', '--cleanup=verbatim', '--message', `${tag}\n\n${notes}`, tag)
  return tag
}

try {
  const [step, ...rest] = process.argv.slice(2)
  if (step === undefined || rest.length > 0) throw new Error('Usage: npm run release -- patch|minor|major|VERSION')
  console.log(`Tagged ${release(step)}. Publish it with: git push --follow-tags`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
