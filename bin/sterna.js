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
const { main } = await import('../src/main.ts')
process.exitCode = await main(process.argv.slice(2))
