/**
 * Loaded into a server by `--import` before its own modules: tells who connects to the UNIX socket BENCH_PROBE how many bytes each
 * of its threads has allocated, as JSON. The server knows nothing of it, and nothing is done until someone asks. Plain JavaScript:
 * Node's stripper of types would stay in the server's memory.
 */
import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { getHeapStatistics } from 'node:v8'
import { isMainThread } from 'node:worker_threads'

const path = process.env.BENCH_PROBE
// Threads and children that the server starts inherit flags and environment; children do not inherit the command.
if (path && isMainThread && process.argv[2] === 'serve') answerOn(path)

function answerOn(socketPath) {
  const workers = new Set()
  process.on('worker', (worker) => {
    workers.add(worker)
    worker.once('exit', () => workers.delete(worker))
  })
  const allocations = (thread, statistics) => ({ thread, allocatedBytes: statistics.total_allocated_bytes ?? null })
  // The server starts once more in its own place, and then finds the socket of the first start.
  rmSync(socketPath, { force: true })
  createServer((socket) => {
    socket.on('error', () => {})
    // A thread that is starting or ending has none.
    const others = Array.from(workers, (worker) => {
      const thread = worker.threadName ?? 'WorkerThread'
      return worker.getHeapStatistics().then(
        (statistics) => [allocations(thread, statistics)],
        () => [],
      )
    })
    void Promise.all(others).then((all) => socket.end(JSON.stringify([allocations('main', getHeapStatistics()), ...all.flat()])))
  })
    .listen(socketPath)
    .unref()
}
