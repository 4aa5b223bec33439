import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { SternaError } from '../../src/platform/errors.ts'
import { limits, watchedHeader, type FuzzResult, type FuzzTask } from './fuzz-limits.ts'
import { mutate } from './mutate.ts'
import { Random } from './random.ts'
import { targets, type Target } from './targets.ts'

const { target: name, seed, duration, watched } = workerData as FuzzTask
const target = targets[name] as Target
const counters = new Int32Array(watched, 0, 2)
const shown = new Uint8Array(watched, watchedHeader)
const random = new Random(seed)

interface Run {
  ms: number
  answer: string
}

/** By the time of the processor, which does not count what else the machine is busy with. */
async function run(input: Buffer): Promise<Run> {
  const start = process.threadCpuUsage()
  const answer = await target.run(input)
  const { user, system } = process.threadCpuUsage(start)
  return { answer, ms: (user + system) / 1000 }
}

/** Times are rounded to powers of two, so that only much slower ones are new. */
const timeClass = (ms: number): number => Math.max(0, Math.ceil(Math.log2(ms)))

/** Small inputs are tried sooner; one in eight times it is the larger one, for what only shows at size. */
const smallerOf = (one: Buffer, another: Buffer): Buffer => (one.length < another.length === random.oneIn(8) ? another : one)

async function fuzz(): Promise<FuzzResult> {
  const corpus = await target.seeds()
  const known = new Set<string>()
  const result: FuzzResult = { executions: 0, kept: 0, slowestMs: 0, slowest: new Uint8Array(), heap: 0, failure: null }
  const seeds = corpus.length
  const end = performance.now() + duration
  while (performance.now() < end) {
    const isSeed = result.executions < seeds
    const source = isSeed ? (corpus[result.executions] as Buffer) : smallerOf(random.of(corpus), random.of(corpus))
    const input = isSeed ? source : mutate(source, random.of(corpus), random, target.longest)
    shown.set(input)
    counters[1] = input.length
    counters[0] = ++result.executions
    let seen: Run
    try {
      seen = await run(input)
      // What was compiled meanwhile is not the input's fault.
      for (let again = 0; seen.ms > limits.ms && again < 2; again++) seen = await run(input)
    } catch (error) {
      if (error instanceof SternaError) continue
      return { ...result, failure: { kind: 'throws', what: String((error as Error).stack ?? error), input } }
    }
    if (seen.ms > result.slowestMs) Object.assign(result, { slowestMs: seen.ms, slowest: Uint8Array.from(input) })
    if (seen.ms > limits.ms) return { ...result, failure: { kind: 'slow', what: `${Math.round(seen.ms)} ms`, input } }
    const feature = `${timeClass(seen.ms)} ${seen.answer}`
    if (!isSeed && !known.has(feature) && known.size < 5000) {
      known.add(feature)
      corpus.push(Buffer.from(input))
    }
    if (result.executions % 500 === 0) result.heap = Math.max(result.heap, process.memoryUsage().heapUsed)
  }
  return { ...result, kept: corpus.length - seeds }
}

const port = parentPort as MessagePort
port.postMessage(await fuzz())
