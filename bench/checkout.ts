import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('..', import.meta.url))
const git = (...words: string[]): string => execFileSync('git', words, { cwd: here, encoding: 'utf8' }).trim()

export interface Checkout {
  directory: string
  /** Its short hash and subject. */
  title: string
  remove(): void
}

/** Builds the server of a checkout, as `npm start` does: figures are of what people run. Older commits run from their sources. */
export function buildServer(directory = here): void {
  if (!existsSync(join(directory, 'bin/built.js'))) return
  execFileSync(process.execPath, ['scripts/build.ts'], { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** The source of a commit in a directory of its own, with its packages. */
export function checkOut(commit: string): Checkout {
  const title = git('log', '-1', '--format=%h %s', commit)
  const parent = mkdtempSync(join(tmpdir(), 'sterna-bench-'))
  const directory = join(parent, 'checkout')
  git('worktree', 'add', '--quiet', '--detach', directory, commit)
  const remove = (): void => {
    git('worktree', 'remove', '--force', directory)
    rmSync(parent, { recursive: true, force: true })
  }
  try {
    const lock = (root: string): string => readFileSync(join(root, 'package-lock.json'), 'utf8')
    if (lock(directory) === lock(here)) symlinkSync(join(here, 'node_modules'), join(directory, 'node_modules'))
    else
      execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] })
    buildServer(directory)
    return { directory, title, remove }
  } catch (error) {
    remove()
    throw error
  }
}
