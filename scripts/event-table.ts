import { eventTypes, webhookEventTypes } from '../src/mail/event/event-type.ts'
import { withMadePart } from './made-part.ts'

/** The page with the table of the events that webhooks can get. */
export const withEventTable = (page: string): string =>
  withMadePart(
    page,
    'src/mail/event/event-type.ts',
    ['| event | when |', '|---|---|', ...webhookEventTypes.map((type) => `| \`${type}\` | ${eventTypes[type].when} |`)].join('\n'),
  )
