#!/usr/bin/env node
// Plain JavaScript without static imports: better-sqlite3 crashes Node 20 outright, so the version is looked at first.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `Sterna needs Node 22.19 or newer; this is ${process.version}. ` +
      'Run it as "npm start" or "npx sterna" after "npm ci", which brings a newer Node along.',
  )
  process.exit(1)
}
// Compiled code is kept beside the packages: the next start takes half the time and 60 MB less, because neither this
// thread nor any other has to strip types again; one file without it, and Node's stripper stays in memory with 12 MB.
// Where the directory cannot be written, Node goes on without.
if (!process.env.NODE_COMPILE_CACHE) {
  const { fileURLToPath } = await import('node:url')
  process.env.NODE_COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url))
  const { enableCompileCache } = await import('node:module')
  enableCompileCache(process.env.NODE_COMPILE_CACHE)
}
const { load } = await import('./built.js')
const { heapFlags, restartWithMemory } = await load('src/platform/server-memory.ts')
restartWithMemory([process.execPath, ...process.execArgv, ...heapFlags, ...process.argv.slice(1)])
const { main } = await load('src/server/main.ts')
process.exitCode = await main(process.argv.slice(2))
