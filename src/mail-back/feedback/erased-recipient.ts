import { isErasedAddress } from '../../mail/suppression/erased-address.ts'
import type { ReturnedMail } from './returned-mail-store.ts'
import type { Consequence } from './match-feedback.ts'
import type { ReturnedMailOutcome } from './returned-mail-handler.ts'

/** The consequence for an erased recipient, without the text of the returned message. */
export function withoutReason(consequence: Consequence): Consequence {
  if (consequence.type === 'delivered') return { ...consequence, delivery: { ...consequence.delivery, reason: '' } }
  if (consequence.type === 'bounced') return { ...consequence, bounce: { ...consequence.bounce, reason: '', inWords: undefined } }
  return consequence
}

/**
 * The outcome to store for mail to this address. For an erased address it keeps only the consequence, because the
 * returned message names the address again.
 */
export function keptOutcome(outcome: ReturnedMailOutcome, { id }: Pick<ReturnedMail, 'id'>, forwardPath: string): ReturnedMailOutcome {
  if (!isErasedAddress(forwardPath)) return outcome
  const forget = [
    { sql: 'update returned_mail set reverse_path = null where id = :id', params: { id } },
    {
      sql: `delete from returned_mail_content
             where id = (select content_id from returned_mail where id = :id)
               and not exists (select 1 from returned_mail r
                                where r.content_id = returned_mail_content.id and r.state = 'received' and r.id <> :id)`,
      params: { id },
    },
  ]
  return { ...outcome, summary: null, statements: [...outcome.statements, ...forget] }
}
