/** The composer thread: composes the submissions of large requests, one after the other. Started by email-composer.ts. */
import { parseContent } from '../../mail/template/template-content.ts'
import type { LiveTemplate } from '../../mail/template/live-templates.ts'
import { doJobs } from '../../platform/do-jobs.ts'
import { postedBatch, type ComposeJob, type TemplateQuestion } from './composer-messages.ts'
import { batchFrom, submissionFrom, type RequestContext } from './email-request.ts'
import type { FoundTemplate } from './email-template.ts'

doJobs(async ({ what, source, request, context: posted }: ComposeJob, ask) => {
  const given = source instanceof Uint8Array ? Buffer.from(source.buffer, source.byteOffset, source.byteLength) : source
  const context: RequestContext = { ...posted, findTemplate: templateFinder(ask), renderRoom: null }
  return what === 'one' ? submissionFrom(given, request, context) : postedBatch(await batchFrom(given, request, context))
})

/** Asks the main thread once for each template of the job. */
function templateFinder(ask: (question: TemplateQuestion) => Promise<unknown>): RequestContext['findTemplate'] {
  const found = new Map<string, Promise<FoundTemplate>>()
  return (accountId, idOrAlias, version) => {
    const key = `${idOrAlias} ${version ?? ''}`
    const known = found.get(key) ?? ask({ accountId, idOrAlias, version }).then((template) => parsed(template as LiveTemplate))
    found.set(key, known)
    return known
  }
}

const parsed = (template: LiveTemplate): FoundTemplate => ({ template, parsed: parseContent(template) })
