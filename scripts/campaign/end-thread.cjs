// Loaded into every thread of a server under test: ends a thread once the file with its name is there, without an error.
const { existsSync, rmSync } = require('node:fs')
const { isMainThread, threadName } = require('node:worker_threads')

const wish = `${process.env.STERNA_DATA_DIR}.end-${threadName}`
if (!isMainThread) {
  const look = () => {
    if (!existsSync(wish)) return
    rmSync(wish, { force: true })
    process.exit(0)
  }
  setInterval(look, 20).unref()
}
