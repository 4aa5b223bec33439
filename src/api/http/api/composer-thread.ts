/** The composer thread: composes the submissions of large requests, one after the other. Started by email-composer.ts. */
import { parentPort, type MessagePort } from 'node:worker_threads'
import { SternaError } from '../../../platform/errors.ts'
import { parseContent } from '../../../mail/template/template-content.ts'
import {
  errorOf,
  postedBatch,
  refusalOf,
  type ComposeAnswer,
  type ComposeJob,
  type TemplateAnswer,
  type TemplateQuestion,
} from './composer-messages.ts'
import { batchFrom, submissionFrom, type RequestContext } from './email-request.ts'
import type { FoundTemplate } from './email-template.ts'

const port = parentPort as MessagePort

/** Receives the answer to the last question; a job asks one question at a time. */
let takeTemplate: (answer: TemplateAnswer) => void = () => {}

port.on('message', (message: ComposeJob | TemplateAnswer) => {
  if ('what' in message) answerTo(message).then((answer) => port.postMessage(answer))
  else takeTemplate(message)
})

async function answerTo({ what, source, request, context: posted }: ComposeJob): Promise<ComposeAnswer> {
  const given = source instanceof Uint8Array ? Buffer.from(source.buffer, source.byteOffset, source.byteLength) : source
  const context: RequestContext = { ...posted, findTemplate: templateFinder(), renderRoom: null }
  try {
    if (what === 'one') return { submission: await submissionFrom(given, request, context) }
    return postedBatch(await batchFrom(given, request, context))
  } catch (error) {
    if (!(error instanceof SternaError)) return { failure: error instanceof Error ? String(error.stack) : String(error) }
    return { refusal: refusalOf(error) }
  }
}

/** Asks the main thread once for each template of the job. */
function templateFinder(): RequestContext['findTemplate'] {
  const found = new Map<string, Promise<FoundTemplate>>()
  return (accountId, idOrAlias, version) => {
    const key = `${idOrAlias} ${version ?? ''}`
    const known = found.get(key) ?? askForTemplate({ wanted: { accountId, idOrAlias, version } })
    found.set(key, known)
    return known
  }
}

async function askForTemplate(question: TemplateQuestion): Promise<FoundTemplate> {
  const { promise, resolve } = Promise.withResolvers<TemplateAnswer>()
  takeTemplate = resolve
  port.postMessage(question)
  const answer = await promise
  if ('refusal' in answer) throw errorOf(answer.refusal)
  if ('failure' in answer) throw new Error(answer.failure)
  return { template: answer.template, parsed: parseContent(answer.template) }
}
