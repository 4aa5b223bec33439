import type { BaseServices } from '../../platform/base-services.ts'
import type { Nodes } from '../../platform/store/nodes.ts'
import type { AccountPolicies } from '../../senders/account/account-policies.ts'
import { networkRule } from '../../platform/ip-address.ts'
import type { ErasedAddress } from '../../mail/suppression/erased-address.ts'
import { feedbackHandler } from './feedback-handler.ts'
import { startFeedbackParser, type FeedbackParser } from './feedback-parser.ts'
import { returnPathPurposes } from '../../platform/metrics/returned-mail-labels.ts'
import type { ReturnedMailStore, ReturnPathPurpose } from './returned-mail-store.ts'
import type { ReturnedMailHandler } from './returned-mail-handler.ts'
import { ReturnedMailRunner } from './returned-mail-runner.ts'
import { unsubscribeHandler } from './unsubscribe-handler.ts'

/** Purposes whose mail is about one of our recipients. */
type RecipientPurpose = 'bounce' | 'complaint' | 'unsubscribe' | 'smarthost_report'

interface FeedbackServices extends Pick<BaseServices, 'db' | 'clock' | 'log' | 'metrics'> {
  nodes: Pick<Nodes, 'self' | 'freeBuried'>
  returnedMail: ReturnedMailStore
  /** Verifies recipients' tokens. */
  tokenKeys: () => readonly Buffer[]
  erasedAddress: ErasedAddress
  policies: Pick<AccountPolicies, 'of'>
  /** Handlers for mail that is not about one recipient. */
  handlers: Record<Exclude<ReturnPathPurpose, RecipientPurpose>, ReturnedMailHandler>
}

/** Settles the returned mail that is stored, and what arrives from now on. `complaintSources`: networks; empty means any. */
export async function startFeedback(services: FeedbackServices, { complaintSources }: { complaintSources: string[] }) {
  // Anybody can write to the complaint address, and a smarthost reports on each mail. With parsers of their own, they delay no bounce.
  const parsers = { bounce: startFeedbackParser(), complaint: startFeedbackParser(), smarthost_report: startFeedbackParser() }
  const isKnownSource = networkRule(complaintSources)
  const unsubscribe = unsubscribeHandler(services)
  const isComplaintSource = (address: string): boolean => complaintSources.length === 0 || isKnownSource(address)
  const handlerWith = (parser: FeedbackParser): ReturnedMailHandler =>
    feedbackHandler({ ...services, parser, unsubscribe, isComplaintSource })
  const handlers: Record<ReturnPathPurpose, ReturnedMailHandler> = {
    ...services.handlers,
    bounce: handlerWith(parsers.bounce),
    complaint: handlerWith(parsers.complaint),
    smarthost_report: handlerWith(parsers.smarthost_report),
    unsubscribe,
  }
  const runners = new Map(
    returnPathPurposes.map((purpose) => [purpose, new ReturnedMailRunner({ ...services, purpose, handler: handlers[purpose] })]),
  )
  services.returnedMail.onArrival((purposes) => {
    for (const purpose of purposes) runners.get(purpose)?.mailArrived()
  })
  for (const runner of runners.values()) await runner.start()
  return {
    async stop(graceMs: number): Promise<void> {
      await Promise.all([...runners.values()].map((runner) => runner.stop(graceMs)))
      await Promise.all(Object.values(parsers).map((parser) => parser.stop()))
    },
  }
}
