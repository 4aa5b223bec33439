import { webhookEventTypes } from '../src/mail/event/event-type.ts'
import { postedEvents } from '../src/mail/event/posted-event.ts'
import { withMadePart } from './made-part.ts'

/** The page with the table of the events that webhooks can get. */
export const withEventTable = (page: string): string =>
  withMadePart(
    page,
    'src/mail/event/event-type.ts',
    ['| event | when |', '|---|---|', ...webhookEventTypes.map((type) => `| \`${type}\` | ${postedEvents[type].when} |`)].join('\n'),
  )
