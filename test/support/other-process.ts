import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from './temporary-directory.ts'

/**
 * Runs a script in a process of its own, to its end. `source(path)` in it imports a module of ours, `given` is what was given.
 * `files`: how many it may have open.
 */
export function inOtherProcess(
  script: string,
  given: unknown = null,
  { files = 1024 } = {},
): { signal: string | null; stdout: string; stderr: string } {
  const { path, remove } = temporaryDirectory()
  const file = join(path, 'script.mjs')
  const root = JSON.stringify(new URL('../../src/', import.meta.url).href)
  // A file, because threads are started with the options that a script on the command line needs, and refuse them.
  writeFileSync(file, `const source = (path) => import(${root} + path)\nconst given = ${JSON.stringify(given)}\n${script}`)
  const { signal, stdout, stderr } = spawnSync('sh', ['-c', `ulimit -n ${files} && exec "$0" "$1"`, process.execPath, file], {
    encoding: 'utf8',
  })
  remove()
  return { signal, stdout, stderr }
}
