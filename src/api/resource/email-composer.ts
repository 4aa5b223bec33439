import type { BaseServices } from '../../platform/base-services.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Submission } from '../../mail/message/submission.ts'
import { JobThread } from '../../platform/job-thread.ts'
import { isSmall } from '../large-work/small-source.ts'
import { noteShared } from '../../platform/shared-memory.ts'
import type { UnsubscribeContext } from '../../mail/suppression/unsubscribe-token.ts'
import type { LiveTemplates } from '../../mail/template/live-templates.ts'
import { RenderBudget } from '../../mail/template/render-budget.ts'
import { smallRendering } from '../../mail/template/template-work.ts'
import { receivedBatch, type ComposeJob, type PostedBatch, type TemplateQuestion } from './composer-messages.ts'
import { batchFrom, submissionFrom, type ComposedBatch, type EmailRequest, type EmailSource, type RequestContext } from './email-request.ts'
import { TooMuchHere } from './email-template.ts'

interface ComposerServices extends Pick<BaseServices, 'clock' | 'log'> {
  templates: Pick<LiveTemplates, 'get'>
  /** bytes; the setting `message_size_limit` */
  messageSizeLimit: number
  unsubscribe: () => UnsubscribeContext
}

/** bytes of a request; above it, to hand a request over costs this thread less than the text that is made from HTML */
const composedHere = 16 * 1024

/**
 * Composes the submissions of requests: small ones at once, large ones one after the other on a thread of their own, because 25 MB of
 * attachments or 5 MiB of HTML keep a thread busy for longer than other connections should wait. Those in between go there too, unless they
 * would wait for a large one.
 */
export class EmailComposer {
  readonly #services: ComposerServices
  readonly #thread: JobThread
  /** Large requests that the thread has not finished. */
  #large = 0

  constructor(services: ComposerServices) {
    this.#services = services
    const { log, templates } = services
    this.#thread = new JobThread({
      module: new URL('./composer-thread.ts', import.meta.url),
      name: 'composer',
      onLost: (error) => log.error({ error }, 'the composer thread has ended; the next request starts another'),
      answer: async (question) => {
        const { accountId, idOrAlias, version } = question as TemplateQuestion
        return (await templates.get(accountId, idOrAlias, version)).template
      },
    })
  }

  /**
   * The submission of an email; large JSON is transferred away from the caller.
   * @throws SternaError if it is refused; `service_unavailable` after `stop`
   */
  submissionFrom(source: EmailSource, request: EmailRequest): Promise<Submission> {
    const job: ComposeJob = { what: 'one', source, request, context: this.#context() }
    return this.#compose(
      job,
      (context) => submissionFrom(source, request, context),
      (result) => noted(result as Submission),
    )
  }

  /**
   * The submissions of a list of emails; large JSON is transferred away from the caller.
   * @throws SternaError if the whole list is refused; `service_unavailable` after `stop`
   */
  batchFrom(source: EmailSource, request: EmailRequest): Promise<ComposedBatch> {
    const job: ComposeJob = { what: 'batch', source, request, context: this.#context() }
    return this.#compose(
      job,
      (context) => batchFrom(source, request, context),
      (result) => notedBatch(receivedBatch(result as PostedBatch)),
    )
  }

  /** Ends the thread and refuses what waits. */
  stop(): Promise<void> {
    return this.#thread.stop()
  }

  #context(): ComposeJob['context'] {
    const { clock, messageSizeLimit, unsubscribe } = this.#services
    return { now: clock.now(), messageSizeLimit, unsubscribe: unsubscribe() }
  }

  /** Composes here, or on the thread if it would take long: a small request may name a large template. */
  async #compose<T>(job: ComposeJob, here: (context: RequestContext) => Promise<T>, received: (result: unknown) => T): Promise<T> {
    const isLarge = !isSmall(job.source as EmailSource)
    if (!isLarge && (this.#large > 0 || isSmall(job.source as EmailSource, composedHere))) {
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
    if (isLarge) this.#large++
    try {
      return received(await this.#thread.run(job, [job.source]))
    } finally {
      if (isLarge) this.#large--
    }
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
