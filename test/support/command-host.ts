// As `bin/sterna.js` does: from what was built, or else from the sources.
const { load } = await import(new URL('../../bin/built.js', import.meta.url).href)
const { main } = await load('src/server/main.ts')

// Runs each command line it is sent as a process of its own would, in one for all: see run-commands.ts. A NUL ends what it writes.

const { NODE_COMPILE_CACHE } = process.env
// Each command listens for the end of its reader.
process.stdout.setMaxListeners(0)

process.on('message', async ({ argv, cwd, env }: { argv: string[]; cwd: string; env: Record<string, string> }) => {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }, env)
  const exitCode = await main(argv)
  for (const stream of [process.stdout, process.stderr]) stream.write('\0')
  process.send?.(exitCode)
})
