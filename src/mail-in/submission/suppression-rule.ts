import type { Submission, Submitter } from '../../mail/message/submission.ts'
import type { ErasedAddress } from '../../mail/suppression/erased-address.ts'
import {
  findSuppressed,
  noneSuppressed,
  type AddressedMail,
  type OtherForms,
  type IsSuppressed,
} from '../../mail/suppression/suppression-list.ts'
import type { Database } from '../../platform/store/database.ts'
import type { AcceptanceRule } from './acceptance-rule.ts'

/**
 * Nobody on the suppression list is mailed. Hardly any recipient is on it, so mail is first written on the condition that none of the
 * addresses is; the list is read only if that fails. `isSuppressed` is what is known of it so far, for the draft.
 */
export function suppressionRule(
  submissions: Submission[],
  { submitter, now }: { submitter: Submitter; now: number },
  { db, erasedAddress, otherForms }: { db: Database; erasedAddress: ErasedAddress; otherForms: OtherForms },
): AcceptanceRule & { isSuppressed: IsSuppressed } {
  const query = { accountId: submitter.accountId, sandbox: submitter.sandbox, erasedAddress, now }
  const mail = addressedMail(submissions)
  let condition = noneSuppressed({ ...query, forms: otherForms.known }, mail)
  const rule = {
    guard: 'suppression' as const,
    isSuppressed: (() => false) as IsSuppressed,
    statements: () => condition,
    async onConflict() {
      await otherForms.look()
      const addresses = [...new Set(mail.flatMap((ofTopic) => ofTopic.addresses))]
      rule.isSuppressed = await findSuppressed(db, query, addresses)
      condition = []
    },
  }
  return rule
}

/** The addresses of all messages, separately for each topic. */
function addressedMail(submissions: Submission[]): AddressedMail[] {
  const [only] = submissions
  if (only && submissions.length === 1) {
    const { envelope, options } = only
    return [{ topic: options.unsubscribeTopic, addresses: envelope.recipients.map(({ forwardPath }) => forwardPath) }]
  }
  const byTopic = new Map<string | null, Set<string>>()
  for (const { envelope, options } of submissions) {
    const addresses = byTopic.get(options.unsubscribeTopic) ?? new Set()
    byTopic.set(options.unsubscribeTopic, addresses)
    for (const { forwardPath } of envelope.recipients) addresses.add(forwardPath)
  }
  return Array.from(byTopic, ([topic, addresses]) => ({ topic, addresses: [...addresses] }))
}
