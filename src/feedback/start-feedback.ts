import type { Clock } from '../clock.ts'
import { networkRule } from '../ip-address.ts'
import type { Log } from '../log.ts'
import type { Database } from '../store/database.ts'
import type { SuppressionPolicy } from '../suppression/suppression-policy.ts'
import { feedbackHandler } from './feedback-handler.ts'
import { startFeedbackParser } from './feedback-parser.ts'
import type { IncomingReports, ReportPurpose } from './incoming-reports.ts'
import type { ReportHandler } from './report-handler.ts'
import { ReportRunner } from './report-runner.ts'
import { unsubscribeHandler } from './unsubscribe-handler.ts'

/** Purposes whose reports are about one recipient of ours. */
type RecipientPurpose = 'bounce' | 'complaint' | 'unsubscribe'

interface FeedbackParts {
  db: Database
  clock: Clock
  log: Log
  reports: IncomingReports
  /** Of the tokens of recipients. */
  tokenKey: Buffer
  policyFor(accountId: string): SuppressionPolicy
  /** What takes the reports that are not about one recipient. */
  handlers: Record<Exclude<ReportPurpose, RecipientPurpose>, ReportHandler>
  eventsWritten(): void
}

/** Takes what has come in by the return path, and what comes from now on. `complaintSources`: networks; none: anybody. */
export function startFeedback(parts: FeedbackParts, { complaintSources }: { complaintSources: string[] }) {
  const parser = startFeedbackParser()
  const isKnownSource = networkRule(complaintSources)
  const unsubscribe = unsubscribeHandler(parts)
  const feedback = feedbackHandler({
    ...parts,
    parser,
    unsubscribe,
    isComplaintSource: (address) => complaintSources.length === 0 || isKnownSource(address),
  })
  const runner = new ReportRunner({ ...parts, handlers: { ...parts.handlers, bounce: feedback, complaint: feedback, unsubscribe } })
  parts.reports.onArrival(() => runner.reportArrived())
  runner.reportArrived()
  return {
    async stop(graceMs: number): Promise<void> {
      await runner.stop(graceMs)
      await parser.stop()
    },
  }
}
