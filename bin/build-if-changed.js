// Runs before `npm start`: builds the server where there is no build of these sources, and what builds it is installed.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isBuilt } from './built.js'

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url))

if (!isBuilt && existsSync(path('node_modules/esbuild'))) {
  try {
    execFileSync(process.execPath, [path('scripts/build.ts'), '--server'], { stdio: ['ignore', 'ignore', 'pipe'] })
  } catch ({ stderr, message }) {
    const reason = /^\w*Error: .*$/m.exec(stderr)?.[0] ?? message
    console.error(`The server could not be built (${reason}). It runs from its sources, with more memory.`)
  }
}
