import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData, type MessagePort } from 'node:worker_threads'

/** Asks for /healthz over and over. Started by health-watch.ts. */
const { port } = workerData as { port: number }
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const parent = parentPort as MessagePort
let seen: number[] = []

function ask(): Promise<number> {
  const start = performance.now()
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  request({ host: '127.0.0.1', port, path: '/healthz', agent }, (answer) => {
    answer.resume().on('end', () => resolve(performance.now() - start))
  })
    .on('error', reject)
    .end()
  return promise
}

parent.on('message', () => {
  const sorted = seen.toSorted((one, another) => one - another)
  seen = []
  parent.postMessage({ answers: sorted.length, median: sorted[sorted.length >> 1] ?? 0, worst: sorted.at(-1) ?? 0 })
})
for (;;) {
  seen.push(await ask())
  await pause(2)
}
