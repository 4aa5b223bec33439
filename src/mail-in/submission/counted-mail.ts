import type { CountedMail } from '../../senders/account/mail-quotas.ts'
import { systemAccountId } from '../../senders/account/system-account.ts'
import type { Admission } from './admission.ts'

/**
 * What counts against the quotas of messages of one submitter: recipients who will get live mail. Mail in the sandbox and the server's own
 * mail do not count.
 * @param recipients how many there are of each message
 */
export function countedMail(admissions: readonly Admission[], recipients: readonly number[]): CountedMail {
  const accountId = admissions[0]?.submission.submitter.accountId ?? ''
  const byDomain = new Map<string, number>()
  admissions.forEach(({ submission, message }, place) => {
    if (submission.submitter.sandbox || accountId === systemAccountId || message.domain_id === null) return
    byDomain.set(message.domain_id, (byDomain.get(message.domain_id) ?? 0) + (recipients[place] ?? 0))
  })
  return { accountId, byDomain }
}
