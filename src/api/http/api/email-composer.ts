import type { Worker } from 'node:worker_threads'
import type { Clock } from '../../../platform/clock.ts'
import { SternaError } from '../../../platform/errors.ts'
import type { Log } from '../../../platform/log.ts'
import type { Submission } from '../../../mail/message/submission.ts'
import { startThread } from '../../../platform/program.ts'
import { noteShared } from '../../../platform/shared-memory.ts'
import type { UnsubscribeContext } from '../../../mail/suppression/unsubscribe-token.ts'
import type { LiveTemplates } from '../../../mail/template/live-templates.ts'
import { RenderBudget } from '../../../mail/template/render-budget.ts'
import { smallRendering } from '../../../mail/template/template-work.ts'
import {
  errorOf,
  receivedBatch,
  refusalOf,
  type ComposeAnswer,
  type ComposeJob,
  type TemplateAnswer,
  type TemplateQuestion,
} from './composer-messages.ts'
import { batchFrom, submissionFrom, type ComposedBatch, type EmailRequest, type EmailSource, type RequestContext } from './email-request.ts'
import { TooMuchHere } from './email-template.ts'
import { handedOver } from './handed-over.ts'
import { isSmall } from './small-source.ts'

interface ComposerServices {
  clock: Clock
  log: Log
  templates: Pick<LiveTemplates, 'get'>
  /** bytes; the setting `message_size_limit` */
  messageSizeLimit: number
  unsubscribe: UnsubscribeContext
}

interface Waiting {
  job: ComposeJob
  resolve: (composed: Submission | ComposedBatch) => void
  reject: (error: Error) => void
}

/** An idle thread uses 30 MB; starting one takes a tenth of a second. */
const idleMs = 30_000
/**
 * Composes the submissions of requests: small ones at once, large ones one after the other on a thread of their own, because 25 MB of
 * attachments or 5 MiB of HTML keep a thread busy for longer than other connections should wait.
 */
export class EmailComposer {
  readonly #services: ComposerServices
  readonly #waiting: Waiting[] = []
  #current: Waiting | null = null
  #thread: Worker | null = null
  #idleTimer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(services: ComposerServices) {
    this.#services = services
  }

  /**
   * The submission of an email; large JSON is transferred away from the caller.
   * @throws SternaError if it is refused; `service_unavailable` after `stop`
   */
  submissionFrom(source: EmailSource, request: EmailRequest): Promise<Submission> {
    const job: ComposeJob = { what: 'one', source, request, context: this.#context() }
    return this.#compose(job, (context) => submissionFrom(source, request, context))
  }

  /**
   * The submissions of a list of emails; large JSON is transferred away from the caller.
   * @throws SternaError if the whole list is refused; `service_unavailable` after `stop`
   */
  batchFrom(source: EmailSource, request: EmailRequest): Promise<ComposedBatch> {
    const job: ComposeJob = { what: 'batch', source, request, context: this.#context() }
    return this.#compose(job, (context) => batchFrom(source, request, context))
  }

  /** Ends the thread and refuses what waits. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const { reject } of this.#waiting.splice(0)) reject(stopping())
    await this.#end(stopping())
  }

  #context(): ComposeJob['context'] {
    const { clock, messageSizeLimit, unsubscribe } = this.#services
    return { now: clock.now(), messageSizeLimit, unsubscribe }
  }

  /** Composes here, or on the thread if it would take long: a small request may name a large template. */
  async #compose<T extends Submission | ComposedBatch>(job: ComposeJob, here: (context: RequestContext) => Promise<T>): Promise<T> {
    if (isSmall(job.source as EmailSource)) {
      const { templates } = this.#services
      const context = {
        ...job.context,
        findTemplate: templates.get.bind(templates),
        renderRoom: new RenderBudget({ limits: smallRendering }),
      }
      try {
        return await here(context)
      } catch (error) {
        if (!(error instanceof TooMuchHere)) throw error
      }
    }
    return this.#hand(job) as Promise<T>
  }

  #hand(job: ComposeJob): Promise<Submission | ComposedBatch> {
    if (this.#isStopped) return Promise.reject(stopping())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject })
      this.#next()
    })
  }

  #next(): void {
    if (this.#current) return
    clearTimeout(this.#idleTimer)
    this.#current = this.#waiting.shift() ?? null
    if (!this.#current) {
      this.#idleTimer = setTimeout(() => void this.#end(stopping()), idleMs).unref()
      return
    }
    this.#thread ??= this.#start()
    const { job } = this.#current
    this.#thread.postMessage(job, handedOver(job.source))
  }

  #start(): Worker {
    const thread = startThread(new URL('./composer-thread.ts', import.meta.url), { name: 'composer' })
    // It does not keep the process alive; the waiting connection does.
    thread.unref()
    thread.on('message', (answer: ComposeAnswer | TemplateQuestion) => {
      if (thread !== this.#thread) return
      if ('wanted' in answer) void this.#tellTemplate(thread, answer)
      else this.#settle(answer)
    })
    let cause: unknown = null
    // Without a listener the failure would end the whole process; `exit` follows it.
    thread.on('error', (error) => (cause = error))
    thread.on('exit', () => {
      if (thread !== this.#thread) return
      this.#services.log.error({ error: cause }, 'the composer thread has ended; the next request starts another')
      this.#thread = null
      this.#current?.reject(new SternaError('service_unavailable', 'What composed this request has ended; try again.'))
      this.#current = null
      this.#next()
    })
    return thread
  }

  async #tellTemplate(thread: Worker, { wanted: { accountId, idOrAlias, version } }: TemplateQuestion): Promise<void> {
    const answer = await this.#services.templates.get(accountId, idOrAlias, version).then(
      ({ template }): TemplateAnswer => ({ template }),
      (error: unknown): TemplateAnswer => (error instanceof SternaError ? { refusal: refusalOf(error) } : { failure: String(error) }),
    )
    if (thread === this.#thread) thread.postMessage(answer)
  }

  #settle(answer: ComposeAnswer): void {
    const current = this.#current
    this.#current = null
    if ('submission' in answer) current?.resolve(noted(answer.submission))
    else if ('batch' in answer) current?.resolve(notedBatch(receivedBatch(answer)))
    else if ('failure' in answer) current?.reject(new Error(answer.failure))
    else current?.reject(errorOf(answer.refusal))
    this.#next()
  }

  async #end(error: SternaError): Promise<void> {
    clearTimeout(this.#idleTimer)
    const thread = this.#thread
    this.#thread = null
    this.#current?.reject(error)
    this.#current = null
    await thread?.terminate()
  }
}

function noted(submission: Submission): Submission {
  noteShared(submission.content.size)
  return submission
}

function notedBatch(batch: ComposedBatch): ComposedBatch {
  for (const item of batch.items) if (!(item instanceof SternaError)) noted(item)
  return batch
}

const stopping = (): SternaError => new SternaError('service_unavailable', 'The server is stopping; try again.')
