import { domainOf } from '../smtp/address.ts'
import { parseDiagnostic, type Diagnostic } from './diagnostic.ts'
import { longestReason, type ReportedRecipient } from './feedback.ts'
import { judgeReported, type ReportedRefusal } from './judge-reported.ts'
import type { NamedRecipient } from './named-recipients.ts'
import type { Judgement } from './refusal.ts'
import { saidAction } from './report-phrases.ts'
import type { PhaseText } from './reported-phase.ts'
import type { Vocabulary } from './returned-message.ts'

/** What a report says of all its recipients. */
interface ReportWords {
  text: string
  phase: PhaseText
  action: 'failed' | 'delayed' | 'delivered'
  /** True where it names one recipient only. */
  isOnly: boolean
  vocabulary: Vocabulary
}

/** How Sendmail tells of its own: `550 <a@b.example>... User unknown`; what others said has `<<<` before it. */
const ownLine = /(?:^|\| )[45]\d\d (?:[45]\.\d{1,3}\.\d{1,3} )?<?[^\s<>@]{1,64}@[^\s<>]{1,255}>?\.\.\. /

/** What a report tells of one recipient in words. What is said of nobody in particular is said of the only one. */
export function toldRecipient(named: NamedRecipient, report: ReportWords): ReportedRecipient {
  const own = understand(named, report)
  const isOfAll = report.isOnly && own.judgement.category === 'other'
  const { said, judgement } = isOfAll ? understand({ ...named, reason: `${named.reason}\n${report.text}` }, report) : own
  const isDelivered = saidAction(report.vocabulary.phrases.saidIn(named.reason)) === 'delivered'
  const action = isDelivered ? 'delivered' : report.action
  return {
    address: named.address,
    action,
    hard: judgement.hard && action === 'failed',
    status: said.enhancedCode,
    category: judgement.category,
    inWords: judgement.inWords,
    smtpCode: said.code,
    reason: said.text.slice(0, longestReason),
  }
}

/** What a reply says counts; what introduces it only where the reply says nothing. */
function understand({ address, reason }: NamedRecipient, report: ReportWords): { said: Diagnostic; judgement: Judgement } {
  const said = parseDiagnostic(reason)
  const { rules } = report.vocabulary
  const remoteHost = domainOf(address ?? '').toLowerCase()
  // Where no reply is quoted, the reporting system found this out itself.
  const isFinding = said.code === null || (ownLine.test(said.text) && !/<<< |>>> |\bsaid\b/i.test(reason))
  const refusal: ReportedRefusal = { ...said, remoteHost, phase: report.phase.of(said.text), address, isFinding }
  const whole = judgeReported(refusal, rules)
  if (isFinding) return { said, judgement: whole }
  const reply = judgeReported({ ...refusal, text: said.text.slice(said.text.indexOf(String(said.code))) }, rules)
  return { said, judgement: reply.category === 'other' ? whole : reply }
}
