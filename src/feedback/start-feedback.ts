import type { Clock } from '../clock.ts'
import { networkRule } from '../ip-address.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Database } from '../store/database.ts'
import type { ErasedAddress } from '../suppression/erased-address.ts'
import type { SuppressionPolicy } from '../suppression/suppression-policy.ts'
import { feedbackHandler } from './feedback-handler.ts'
import { startFeedbackParser, type FeedbackParser } from './feedback-parser.ts'
import { reportPurposes, type IncomingReports, type ReportPurpose } from './incoming-reports.ts'
import type { ReportHandler } from './report-handler.ts'
import { ReportRunner } from './report-runner.ts'
import { unsubscribeHandler } from './unsubscribe-handler.ts'

/** Purposes whose reports are about one recipient of ours. */
type RecipientPurpose = 'bounce' | 'complaint' | 'unsubscribe'

interface FeedbackServices {
  db: Database
  clock: Clock
  log: Log
  metrics: Metrics
  reports: IncomingReports
  /** For recipients' tokens. */
  tokenKey: Buffer
  erasedAddress: ErasedAddress
  policyFor(accountId: string): SuppressionPolicy
  /** What takes the reports that are not about one recipient. */
  handlers: Record<Exclude<ReportPurpose, RecipientPurpose>, ReportHandler>
}

/** Takes what has come in by the return path, and what comes from now on. `complaintSources`: networks; none: anybody. */
export function startFeedback(services: FeedbackServices, { complaintSources }: { complaintSources: string[] }) {
  // Anybody can write to the address for complaints; bounces do not wait for what he sends there.
  const parsers = { bounce: startFeedbackParser(), complaint: startFeedbackParser() }
  const isKnownSource = networkRule(complaintSources)
  const unsubscribe = unsubscribeHandler(services)
  const isComplaintSource = (address: string): boolean => complaintSources.length === 0 || isKnownSource(address)
  const handlerWith = (parser: FeedbackParser): ReportHandler => feedbackHandler({ ...services, parser, unsubscribe, isComplaintSource })
  const handlers: Record<ReportPurpose, ReportHandler> = {
    ...services.handlers,
    bounce: handlerWith(parsers.bounce),
    complaint: handlerWith(parsers.complaint),
    unsubscribe,
  }
  const runners = new Map(
    reportPurposes.map((purpose) => [purpose, new ReportRunner({ ...services, purpose, handler: handlers[purpose] })]),
  )
  services.reports.onArrival((purposes) => {
    for (const purpose of purposes) runners.get(purpose)?.reportArrived()
  })
  for (const runner of runners.values()) runner.reportArrived()
  return {
    async stop(graceMs: number): Promise<void> {
      await Promise.all([...runners.values()].map((runner) => runner.stop(graceMs)))
      await Promise.all([parsers.bounce.stop(), parsers.complaint.stop()])
    },
  }
}
