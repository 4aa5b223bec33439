/**
 * The composer thread: makes submissions of large requests, one after the other. Started by email-composer.ts.
 */
import { parentPort } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { SternaError } from '../../errors.ts'
import { postedBatch, refusalOf } from './composer-messages.ts'
import type { ComposeAnswer, ComposeJob } from './composer-messages.ts'
import { batchFrom, submissionFrom } from './email-request.ts'

const port = parentPort as MessagePort

port.on('message', (job: ComposeJob) => {
  answerTo(job).then((answer) => port.postMessage(answer))
})

async function answerTo({ what, source, request, frame }: ComposeJob): Promise<ComposeAnswer> {
  const given = source instanceof Uint8Array ? Buffer.from(source.buffer, source.byteOffset, source.byteLength) : source
  try {
    if (what === 'one') return { submission: await submissionFrom(given, request, frame) }
    return postedBatch(await batchFrom(given, request, frame))
  } catch (error) {
    if (!(error instanceof SternaError)) return { failure: error instanceof Error ? String(error.stack) : String(error) }
    return { refusal: refusalOf(error) }
  }
}
