import { z } from 'zod'
import { linksOfEmail, linksOfTemplate } from '../../readers/analytics/link-report.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { textParameter } from '../operation/query.ts'
import { rangeOf, timeQuery, type AnalyticsServices } from './analytics-query.ts'

const linkColumns = {
  link: z.string(),
  clicked: z.int().describe('All clicks.'),
  bot_clicked: z.int().describe('How many of these came from machines.'),
  unique_clicked: z.int().describe('How many recipients had a person click on it.'),
}

const linksAnswer = z
  .object({
    object: z.literal('list'),
    data: z.array(z.object(linkColumns).meta({ id: 'ClickedLink' })),
  })
  .meta({ id: 'ClickedLinks' })

const query = {
  email_id: textParameter.meta({ description: 'The email whose links to count, as they appear in it.' }),
  template_id: textParameter.meta({
    description:
      'Or the id of a template: the links of all its emails in that time, in whole days (UTC). They are told without query and fragment, ' +
      'with `*` in place of what looks like one reader’s own, and `(other)` stands for those behind the first 100 of a day.',
  }),
  ...timeQuery,
}

const at = operationsAt({ path: '/api/analytics/links', tag: 'Analytics', permission: 'read_access' })

/** `/api/analytics/links` */
export const linksOperation = (services: AnalyticsServices): Operation =>
  at.get('analytics.list_links', '', 'Count clicks by link', {
    description: 'The links of an email or a template that were clicked, most clicked first. Kept as long as events are.',
    query,
    csv: ({ data }: z.input<typeof linksAnswer>) => ({ name: 'links', columns: Object.keys(linkColumns), rows: data }),
    answer: ['The links.', linksAnswer],
    refuses: ['not_found'],
    handle: async ({ caller, query: asked }) => {
      const { accountId, sandbox } = caller
      const { email_id: messageId, template_id: templateId } = asked
      if (messageId !== null && templateId === null) {
        const isTheirs = 'select id from message where id = :messageId and account_id = :accountId and sandbox = :sandbox'
        const found = await services.db.slowRead(isTheirs, { messageId, accountId, sandbox: sandbox ? 1 : 0 })
        if (found.length === 0) throw new SternaError('not_found', 'There is no such email, or it is no longer kept.')
        return { object: 'list' as const, data: await linksOfEmail(services.db, accountId, messageId) }
      }
      if (templateId === null || messageId !== null) {
        throw new SternaError('invalid_parameter', 'Give either the parameter email_id or template_id.')
      }
      await services.rollup.catchUp()
      const data = await linksOfTemplate(services.db, { accountId, templateId, ...rangeOf(asked, services.clock.now()) })
      return { object: 'list' as const, data }
    },
  })
