import type { BaseServices } from '../../platform/base-services.ts'
import { serviceNameAt } from '../../platform/config/report-services.ts'
import type { AccountPolicies } from '../../senders/account/account-policies.ts'
import { suppressionPolicy } from '../../senders/account/account-policy.ts'
import type { Statement } from '../../platform/store/database.ts'
import { isErasedAddress } from '../../mail/suppression/erased-address.ts'
import { withEarlierBounce } from '../../mail/suppression/suppression-policy.ts'
import { keptOutcome, withoutReason } from './erased-recipient.ts'
import { isSystemPath, type Complaint } from '../../mail/bounce-parser/feedback.ts'
import type { FeedbackParser } from './feedback-parser.ts'
import type { ReturnedMail } from './returned-mail-store.ts'
import { matchFeedback, type Consequence } from './match-feedback.ts'
import { withoutEffect, type ReturnedMailHandler, type ReturnedMailOutcome } from './returned-mail-handler.ts'
import { proofOf } from './recipient-proof.ts'
import { readFeedbackSubject, type FeedbackSubject } from './feedback-subject.ts'
import { settleBounce, settleComplaint, settleDelivery } from './settle-returned-mail.ts'

interface FeedbackHandlerServices extends Pick<BaseServices, 'db' | 'clock'> {
  parser: Pick<FeedbackParser, 'parse'>
  /** Verifies recipients' tokens. */
  tokenKeys: () => readonly Buffer[]
  policies: Pick<AccountPolicies, 'of'>
  /** Whether we believe complaints from this host. */
  isComplaintSource(remoteAddress: string): boolean
  /** Unsubscribes the recipient, if the message has an unsubscribe address. */
  unsubscribe: ReturnedMailHandler
}

/** Recipients shown in a summary. A bounce of ours has only one. */
const maxShown = 20

/**
 * Handles bounces and complaints: parses the message, finds the recipient that its token proves, and decides what
 * follows. Addresses in its text decide nothing.
 */
export const feedbackHandler =
  (services: FeedbackHandlerServices): ReturnedMailHandler =>
  async (mail, content) => {
    // The bounce address usually identifies the recipient, so the text need not.
    const addressed = mail.recipientId === null ? null : await readFeedbackSubject(services.db, mail.recipientId)
    const about = addressed && { forwardPath: addressed.forwardPath, isFromSystem: isSystemPath(mail.reversePath) }
    const reading = await services.parser.parse(content, about)
    const summary = { ...reading, recipients: reading.recipients.slice(0, maxShown) }
    const isOfSmarthost = mail.purpose === 'smarthost_report'
    if (reading.class === 'complaint' && !isOfSmarthost && !services.isComplaintSource(mail.remoteAddress))
      return withoutEffect('source_not_believed', summary)
    // Anybody may write to the complaint address. Bounces have addresses of their own.
    if (reading.class !== 'complaint' && mail.purpose === 'complaint') return withoutEffect('no_report', summary)
    const proof = proofOf(mail, reading.original, services.tokenKeys())
    if (typeof proof === 'string') return withoutEffect(proof, summary)
    const subject = addressed ?? (await readFeedbackSubject(services.db, proof.recipientId))
    if (!subject) return withoutEffect('unknown_recipient', summary)
    const matched = matchFeedback(reading, subject, isOfSmarthost ? 'smarthost' : proof.by)
    const consequence = isErasedAddress(subject.forwardPath) ? withoutReason(matched) : matched
    return keptOutcome(await outcomeOf({ mail, content }, { subject, consequence, summary }, services), mail, subject.forwardPath)
  }

async function outcomeOf(
  { mail, content }: { mail: ReturnedMail; content: Uint8Array },
  { subject, consequence, summary }: { subject: FeedbackSubject; consequence: Consequence; summary: unknown },
  services: FeedbackHandlerServices,
): Promise<ReturnedMailOutcome> {
  const { accountId, messageId, recipientId } = subject.event
  const about = { accountId, messageId, recipientId }
  const policy = services.policies.of(suppressionPolicy, accountId)
  const now = services.clock.now()
  const reportedBy = serviceNameAt(mail.forwardPath)
  const changed = (result: ReturnedMailOutcome['result'], statements: Statement[]): ReturnedMailOutcome => ({
    ...withoutEffect(result, summary, about),
    statements,
  })
  const complained = (complaint: Complaint) => changed('complained', settleComplaint(subject, complaint, policy, now))
  switch (consequence.type) {
    case 'nothing':
      return withoutEffect(consequence.result, summary, about)
    case 'wait':
      return { ...withoutEffect('not_sent', summary, about), isProvisional: true }
    case 'delivered':
      return changed('delivered', settleDelivery(subject, consequence.delivery, reportedBy ?? '', now))
    case 'bounced': {
      const addressedTo = { ...subject.event, address: subject.forwardPath }
      const bounce = await withEarlierBounce(consequence.bounce, addressedTo, { db: services.db, policy, now })
      return changed('bounced', settleBounce(subject, { ...bounce, reportedBy }, policy, now))
    }
    case 'complained':
      return complained(consequence.complaint)
    case 'opted_out': {
      const unsubscribed = await services.unsubscribe({ ...mail, recipientId }, content)
      return unsubscribed.about ? { ...unsubscribed, summary } : complained(consequence.complaint)
    }
  }
}
