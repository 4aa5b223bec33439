/** Does the work of large requests, one call after the other. Started by large-worker.ts. */
import { parentPort, type MessagePort } from 'node:worker_threads'
import { SternaError } from '../../platform/errors.ts'
import { refusalOf } from './api/composer-messages.ts'
import { largeWork, type LargeJob } from './large-work.ts'

const port = parentPort as MessagePort

port.on('message', ({ name, given }: LargeJob) => {
  try {
    const work = largeWork[name] as (...given: unknown[]) => unknown
    port.postMessage({ result: work(...given) })
  } catch (error) {
    if (error instanceof SternaError) port.postMessage({ refusal: refusalOf(error) })
    else port.postMessage({ failure: error instanceof Error ? String(error.stack) : String(error) })
  }
})
