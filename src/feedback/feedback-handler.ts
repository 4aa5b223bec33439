import type { Clock } from '../clock.ts'
import type { Database, Statement } from '../store/database.ts'
import { isErasedAddress } from '../suppression/erased-address.ts'
import { withEarlierReport, type SuppressionPolicy } from '../suppression/suppression-policy.ts'
import { keptOutcome, withoutReason } from './erased-recipient.ts'
import { isSystemPath, type Complaint } from '../bounce-parser/feedback.ts'
import type { FeedbackParser } from './feedback-parser.ts'
import type { IncomingReport } from './incoming-reports.ts'
import { matchReport, type Consequence } from './match-report.ts'
import { withoutEffect, type ReportHandler, type ReportOutcome } from './report-handler.ts'
import { proofOf } from './report-proof.ts'
import { readReportSubject, type ReportSubject } from './report-subject.ts'
import { settleBounce, settleComplaint } from './settle-report.ts'

interface FeedbackHandlerServices {
  db: Pick<Database, 'read' | 'slowRead'>
  clock: Clock
  parser: Pick<FeedbackParser, 'parse'>
  /** For recipients' tokens. */
  tokenKey: Buffer
  policyFor(accountId: string): SuppressionPolicy
  /** Whether complaints are believed that this host brings. */
  isComplaintSource(remoteAddress: string): boolean
  /** What unsubscribes the recipient of a report, where the message can be unsubscribed from. */
  unsubscribe: ReportHandler
}

/** Recipients of one report that are told; more than those are in no bounce of ours, which has one. */
const mostShown = 20

/**
 * Reports on delivery, and complaints: read, matched to the recipient that they prove to be about, and turned into what
 * follows. Whatever they name in words decides nothing.
 */
export const feedbackHandler =
  (services: FeedbackHandlerServices): ReportHandler =>
  async (report, content) => {
    // Often the recipient is known from the address, before the text is parsed.
    const addressed = report.recipientId === null ? null : await readReportSubject(services.db, report.recipientId)
    const about = addressed && { forwardPath: addressed.forwardPath, isFromSystem: isSystemPath(report.reversePath) }
    const reading = await services.parser.parse(content, about)
    const summary = { ...reading, recipients: reading.recipients.slice(0, mostShown) }
    if (reading.class === 'complaint' && !services.isComplaintSource(report.remoteAddress))
      return withoutEffect('source_not_believed', summary)
    // Anybody may write there; bounces have addresses of their own.
    if (reading.class !== 'complaint' && report.purpose === 'complaint') return withoutEffect('no_report', summary)
    const proof = proofOf(report, reading.original, services.tokenKey)
    if (typeof proof === 'string') return withoutEffect(proof, summary)
    const subject = addressed ?? (await readReportSubject(services.db, proof.recipientId))
    if (!subject) return withoutEffect('unknown_recipient', summary)
    const matched = matchReport(reading, subject, proof.by)
    const consequence = isErasedAddress(subject.forwardPath) ? withoutReason(matched) : matched
    return keptOutcome(await outcomeOf({ report, content }, { subject, consequence, summary }, services), report, subject.forwardPath)
  }

async function outcomeOf(
  { report, content }: { report: IncomingReport; content: Uint8Array },
  { subject, consequence, summary }: { subject: ReportSubject; consequence: Consequence; summary: unknown },
  services: FeedbackHandlerServices,
): Promise<ReportOutcome> {
  const { accountId, messageId, recipientId } = subject.event
  const about = { accountId, messageId, recipientId }
  const policy = services.policyFor(accountId)
  const now = services.clock.now()
  const changed = (result: ReportOutcome['result'], statements: Statement[]): ReportOutcome => ({
    ...withoutEffect(result, summary, about),
    statements,
  })
  const complained = (complaint: Complaint) => changed('complained', settleComplaint(subject, complaint, policy, now))
  switch (consequence.type) {
    case 'nothing':
      return withoutEffect(consequence.result, summary, about)
    case 'wait':
      return { ...withoutEffect('not_sent', summary, about), isProvisional: true }
    case 'bounced': {
      const mail = { ...subject.event, address: subject.forwardPath }
      const bounce = await withEarlierReport(consequence.bounce, mail, { db: services.db, policy, now })
      return changed('bounced', settleBounce(subject, bounce, policy, now))
    }
    case 'complained':
      return complained(consequence.complaint)
    case 'opted_out': {
      const unsubscribed = await services.unsubscribe({ ...report, recipientId }, content)
      return unsubscribed.about ? { ...unsubscribed, summary } : complained(consequence.complaint)
    }
  }
}
