import { parentPort, type MessagePort } from 'node:worker_threads'
import { outcomeOf, resultOf, type JobOutcome } from './job-outcome.ts'

/** What the main thread sends: a job, or the answer to the last question. */
export type ToThread = { job: unknown } | { answer: JobOutcome }
/** What it gets: how the job ended, or a question. */
export type FromThread = JobOutcome | { question: unknown }

/** Does the jobs of the `JobThread` that this thread is. `ask` asks the main thread; a job asks one question at a time. */
export function doJobs<Job>(work: (job: Job, ask: (question: unknown) => Promise<unknown>) => unknown): void {
  const port = parentPort as MessagePort
  const post = (message: FromThread): void => port.postMessage(message)
  let takeAnswer: (answer: JobOutcome) => void = () => {}
  const ask = async (question: unknown): Promise<unknown> => {
    const { promise, resolve } = Promise.withResolvers<JobOutcome>()
    takeAnswer = resolve
    post({ question })
    return resultOf(await promise)
  }
  port.on('message', (message: ToThread) => {
    if ('answer' in message) takeAnswer(message.answer)
    else void outcomeOf(() => work(message.job as Job, ask)).then(post)
  })
}
