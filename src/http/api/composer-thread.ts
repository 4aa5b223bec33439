/**
 * The composer thread: makes submissions of large requests, one after the other. Started by email-composer.ts.
 */
import { parentPort } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { SternaError } from '../../errors.ts'
import type { ComposeAnswer, ComposeJob } from './composer-messages.ts'
import { submissionFrom } from './email-request.ts'

const port = parentPort as MessagePort

port.on('message', ({ body, request, frame }: ComposeJob) => {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  answerTo(bytes, { request, frame }).then((answer) => port.postMessage(answer))
})

async function answerTo(body: Buffer, { request, frame }: Omit<ComposeJob, 'body'>): Promise<ComposeAnswer> {
  try {
    return { submission: await submissionFrom(body, request, frame) }
  } catch (error) {
    if (!(error instanceof SternaError)) return { failure: error instanceof Error ? String(error.stack) : String(error) }
    const { code, message, faults } = error
    return { refusal: { code, message, faults } }
  }
}
