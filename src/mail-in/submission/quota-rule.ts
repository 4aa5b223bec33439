import type { Submitter } from '../../mail/message/submission.ts'
import type { CountedMail, MailQuotas, QuotaCount } from '../../senders/account/mail-quotas.ts'
import type { QuotaSource } from '../../senders/account/quota-statements.ts'
import { systemAccountId } from '../../senders/account/system-account.ts'
import type { AcceptanceRule } from './acceptance-rule.ts'
import type { Admission, DraftedMail } from './admission.ts'

/** True if the submitter, or a domain that it sends from, has a quota. */
export const hasQuota = ({ accountId }: Submitter, admissions: Admission[], quotas: Pick<MailQuotas, 'isCounted'>): boolean =>
  quotas.isCounted(accountId) || admissions.some(({ message }) => message.domain_id !== null && quotas.isCounted(message.domain_id))

/** No account and no domain mails more recipients than its quota allows. */
export function quotaRule(quotas: Pick<MailQuotas, 'count'>): AcceptanceRule {
  let count: QuotaCount | null = null
  let from: QuotaSource | undefined
  return {
    guard: 'quota',
    statements: (mail) => (count = quotas.count(countedMail(mail), from))?.statements ?? [],
    onWritten: (written) => count?.onWritten(written),
    async onConflict(cause) {
      from = await count?.next(cause)
    },
  }
}

/** Recipients who will get live mail. Mail in the sandbox and the server's own mail do not count. */
function countedMail({ emails }: Pick<DraftedMail, 'emails'>): CountedMail {
  const accountId = emails[0]?.submission.submitter.accountId ?? ''
  const byDomain = new Map<string, number>()
  for (const { submission, message, waiting } of emails) {
    if (submission.submitter.sandbox || accountId === systemAccountId || message.domain_id === null) continue
    byDomain.set(message.domain_id, (byDomain.get(message.domain_id) ?? 0) + waiting.length)
  }
  return { accountId, byDomain }
}
