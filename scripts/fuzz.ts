import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { limits, watchedHeader, type FuzzFailure, type FuzzResult, type FuzzTask } from './fuzz/fuzz-limits.ts'
import { targets } from './fuzz/targets.ts'

/**
 * Gives what reads other people's input a great many inputs that nobody would write: fixtures, changed and mixed.
 *
 * npm run fuzz -- [--target NAME,NAME…] [--seconds 10] [--seed N] [--out DIR] [--input FILE]
 *
 * An input is kept and changed further where it led to an answer, or took a time, that none had before. A fault is an
 * error that is no refusal, more than a second of the processor, or a heap beyond 256 MiB; its input is written to DIR. `--input` runs one
 * target on a file. Exits 0 where there was no fault.
 */
const { values } = parseArgs({
  options: {
    target: { type: 'string', default: Object.keys(targets).join(',') },
    seconds: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    out: { type: 'string', default: 'fuzz-failures' },
    input: { type: 'string' },
  },
})
const names = values.target.split(',')
const unknown = names.find((name) => !targets[name])
if (unknown !== undefined) throw new Error(`There is no target "${unknown}". There are ${Object.keys(targets).join(', ')}.`)

/**
 * Between two looks at what the thread does, ms, and how many without a change are too many: time for a busy machine and two more tries.
 */
const lookMs = 250
const maxLooks = 120

/** Runs the target in a thread, which is ended where an input keeps it too long. */
function fuzz(task: FuzzTask): Promise<FuzzResult> {
  const { promise, resolve, reject } = Promise.withResolvers<FuzzResult>()
  const counters = new Int32Array(task.watched, 0, 2)
  const inHand = (): Uint8Array => new Uint8Array(task.watched, watchedHeader, counters[1]).slice()
  const failed = (kind: FuzzFailure['kind'], what: string): void =>
    resolve({
      executions: counters[0] ?? 0,
      kept: 0,
      slowestMs: 0,
      slowest: new Uint8Array(),
      heap: 0,
      failure: { kind, what, input: inHand() },
    })
  const worker = new Worker(new URL('./fuzz/fuzz-thread.ts', import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: limits.heapBytes / 1024 / 1024 },
  })
  // Looks are counted, not time: this process may have been suspended.
  let [last, looks] = [-1, 0]
  const timer = setInterval(() => {
    const now = counters[0] ?? 0
    if (now !== last) [last, looks] = [now, 0]
    else if (now > 0 && ++looks > maxLooks) failed('slow', `more than ${maxLooks * lookMs} ms`)
  }, lookMs)
  worker.on('message', resolve)
  worker.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') failed('memory', 'beyond the bound of the heap')
    else reject(error)
  })
  return promise.finally(() => {
    clearInterval(timer)
    return worker.terminate()
  })
}

function report(name: string, seed: number, result: FuzzResult): void {
  const { executions, kept, slowestMs, slowest, heap, failure } = result
  const perSecond = Math.round(executions / Number(values.seconds))
  const heapMb = Math.round(heap / 1024 / 1024)
  console.log(
    `${name}: ${executions} executions (${perSecond}/s), ${kept} kept, slowest ${slowestMs.toFixed(1)} ms of ${slowest.length} bytes, heap ${heapMb} MB`,
  )
  if (!failure) return
  mkdirSync(values.out, { recursive: true })
  const file = join(values.out, `${name}-${failure.kind}-${seed}`)
  writeFileSync(file, failure.input)
  console.log(
    `FAULT in ${name}, ${failure.kind}: ${failure.what}\n  seed ${seed}, execution ${executions}, input of ${failure.input.length} bytes in ${file}`,
  )
}

let faults = 0
for (const name of names) {
  if (values.input !== undefined) {
    const start = performance.now()
    console.log(await targets[name]?.run(readFileSync(values.input)), `${(performance.now() - start).toFixed(1)} ms`)
    continue
  }
  const seed = Number(values.seed)
  const longest = targets[name]?.longest ?? 0
  // Seeds may be longer than what is made of them.
  const watched = new SharedArrayBuffer(watchedHeader + Math.max(longest, 4 * 1024 * 1024))
  const result = await fuzz({ target: name, seed, duration: Number(values.seconds) * 1000, watched })
  report(name, seed, result)
  if (result.failure) faults++
}
if (values.input === undefined) console.log(`${faults} of ${names.length} targets have faults; seed ${values.seed}`)
process.exitCode = faults > 0 ? 1 : 0
