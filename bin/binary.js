// How the single executable starts. `npm run build:binary` bundles it; the flags for the heap are part of the executable.
import { restartWithMemory } from '../src/platform/server-memory.ts'
import { childScript } from '../src/platform/program.ts'

const child = childScript(process.argv[2])
if (child === null) void start()
else new Function('require', child)(require)

async function start() {
  restartWithMemory([process.argv0, ...process.argv.slice(2)])
  // Only here: a child that reads strangers' documents needs nothing of it.
  const { main } = await import('../src/server/main.ts')
  process.exitCode = await main(process.argv.slice(2))
}
