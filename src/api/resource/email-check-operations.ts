import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { contentCheckNames, sayOfContent, type ContentFinding } from '../../mail/message/content-checks.ts'
import { contentWordings } from '../../mail/message/content-wordings.ts'
import type { WebhookPoster } from '../../notify/webhook/post-webhook.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { choiceParameter } from '../operation/query.ts'
import { codeFields } from './worded-answer.ts'
import { findMessage } from './email-reading-operations.ts'
import type { Needs } from './operation-services.ts'

const finding = z
  .object({
    check: z.enum(contentCheckNames),
    status: z.enum(['ok', 'warning', 'skipped']).describe('`skipped`: it does not apply.'),
    ...codeFields(contentWordings),
    what: z.string(),
    advice: z.string().nullable(),
  })
  .meta({ id: 'EmailFinding' })

export const checksAnswer = z.object({ object: z.literal('checks'), findings: z.array(finding) }).meta({ id: 'EmailChecks' })

const maxVisited = 20
const visitedAtOnce = 5

const at = operationsAt({ path: '/api/emails', tag: 'Emails', permission: 'read_access' })

/** What readers and their mail programs will make of an email. */
export const emailCheckOperations = ({
  messages,
  messageParser,
  linkVisitor,
  outgoingRequests,
}: Needs<'messages' | 'messageParser' | 'linkVisitor' | 'outgoingRequests'>): Operation[] => [
  at.get('emails.check', '/{id}/checks', 'Check the content of an email', {
    description:
      'A missing text part, pictures without alternative text, size, unsubscribing, placeholders left over, HTML and CSS that mail ' +
      `programs leave out, and links. With \`links=true\`, the first ${maxVisited} links are fetched with GET, from public addresses only ` +
      '(`webhooks.allow_private_addresses`), and redirects are not followed. A link may do something when it is fetched.',
    query: { links: choiceParameter(['true', 'false']).meta({ description: 'Whether links are fetched; default: false.' }) },
    answer: ['What was found.', checksAnswer],
    refuses: ['invalid_message'],
    handle: async (call) => {
      const { id, unsubscribe_topic: topic } = await findMessage(call, messages)
      const report = await messageParser.check(() => messages.content(id), { addsUnsubscribe: topic !== null })
      if (!report) throw new SternaError('not_found', 'The content of this email is no longer kept.')
      if (call.query.links !== 'true') return { object: 'checks' as const, findings: report.findings }
      const { accountId } = call.caller
      const visited = await outgoingRequests.run(accountId, () => visit(report.links.slice(0, maxVisited), linkVisitor))
      return { object: 'checks' as const, findings: [...report.findings, ...visited] }
    },
  }),
]

/** A finding for each link that does not answer as it should, or one for all that do. */
async function visit(links: string[], visitor: Pick<WebhookPoster, 'visit'>): Promise<ContentFinding[]> {
  const say = sayOfContent('links')
  const findings: ContentFinding[] = []
  const left = [...links]
  const next = async (): Promise<void> => {
    for (let link = left.shift(); link !== undefined; link = left.shift()) {
      const { statusCode, error } = await visitor.visit(link)
      if (statusCode !== null && statusCode < 400) continue
      findings.push(
        statusCode === null
          ? say.warning('link_unreachable', { link, fault: error ?? '' })
          : say.warning('link_answers_wrongly', { link, status: statusCode }),
      )
    }
  }
  await Promise.all(Array.from({ length: visitedAtOnce }, next))
  if (findings.length > 0 || links.length === 0) return findings
  return [links.length === 1 ? say.ok('link_answered') : say.ok('links_answered', { count: links.length })]
}
